package auth

import "errors"

// Errors of this package; all are matched with errors.Is. None of their texts holds a
// token or a part of one, so all may be logged.
var (
	// ErrNoCredential: there is no token, and one is needed.
	ErrNoCredential = errors.New("no credential")
	// ErrInvalid: the token is not accepted, and never will be.
	ErrInvalid = errors.New("the credential is not valid")
	// ErrExpired: the token was good and is too old.
	ErrExpired = errors.New("the credential has expired")
	// ErrUnavailable: the token cannot be judged, since the keys cannot be had.
	ErrUnavailable = errors.New("the keys for credentials are not available")

	// ErrConfig: the configuration cannot work; the text names the field.
	ErrConfig = errors.New("configuration of authentication")
	// ErrKeys: a document with keys cannot be used; the text says why.
	ErrKeys = errors.New("keys")
)
