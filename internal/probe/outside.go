package probe

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

// outside says whether the first request failed before the deployment could show what it
// is worth: it was not reached, or did not let the caller in.
func outside(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.status == http.StatusUnauthorized || status.status == http.StatusForbidden
	}
	var dial *net.OpError
	var cert *tls.CertificateVerificationError
	return errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &cert) || errors.Is(err, errNoAnswer) || errors.Is(err, errToken)
}
