package relay

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"sync"
	"time"
)

// openAPI is the contract for programs that make clients. It is written by hand; tests
// hold it against the routes and against what they answer.
//
//go:embed openapi.json
var openAPI []byte

var openAPITag = sync.OnceValue(func() string {
	sum := sha256.Sum256(openAPI)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
})

// openapi serves GET /openapi.json.
func (s *Server) openapi(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("ETag", openAPITag())
	h.Set("Cache-Control", "no-cache")
	if matches(r.Header.Values("If-None-Match"), openAPITag()) {
		writeEmpty(w, http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := w.Write(openAPI)
	return err
}
