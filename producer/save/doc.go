// Package save says what saving a turn is, and brings two savers: the fabric's own
// history and a webhook.
//
//	save.go       Turn, Saver, Func, ErrStale
//	history.go    NewHistory: into the stream HISTORY
//	webhook.go    NewWebhook: POST to an application, until it is confirmed or refused
//	attempt.go    one request and what its answer means
//	body.go       the JSON that is posted
//	sign.go       the signature, and Verify for receivers
//	errors.go     the sentinels
//
// # What a saver promises
//
// nil means that the turn is stored for good. Anything else is shown to observers as not
// saved, so a saver that is not sure says so. A turn may be offered again with the same
// run id, and is then stored once.
//
// # Who blocks whom
//
// Savers have no goroutine and keep nothing between calls; Save is called for many turns
// at once, and each call blocks its own run's end and nothing else, at most for as long
// as its context lasts.
package save
