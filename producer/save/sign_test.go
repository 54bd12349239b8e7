package save_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/save"
)

// signed is a signature as a receiver in another language would compute it.
func signed(secret, body string, at time.Time) string {
	h := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(h, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(h.Sum(nil)))
}

func TestVerify(t *testing.T) {
	t.Parallel()
	const body = `{"a":1}`
	good := signed("s", body, noon)
	other := signed("other", body, noon)
	_, otherSum, _ := strings.Cut(other, ",")
	for _, c := range []struct {
		header, body, secret string
		now                  time.Time
		tolerance            time.Duration
		says                 string // "" means good
	}{
		{good, body, "s", noon, 0, ""},
		{good, body, "s", noon.Add(5 * time.Minute), 0, ""},
		{good, body, "s", noon.Add(-5 * time.Minute), 0, ""},
		{good + "," + otherSum, body, "s", noon, 0, ""},
		{good + "," + otherSum, body, "other", noon, 0, ""},
		{"v0=zz, " + good, body, "s", noon, 0, ""},
		{strings.ToUpper(good[strings.Index(good, "v1=")+3:]), body, "s", noon, 0, "want t="},

		{good, body, "s", noon.Add(301 * time.Second), 0, "off by 5m1s"},
		{good, body, "s", noon.Add(-301 * time.Second), 0, "off by 5m1s"},
		{good, body, "s", noon.Add(11 * time.Second), 10 * time.Second, "more than 10s"},
		{good, body + " ", "s", noon, 0, "not that of this body"},
		{good, body, "S", noon, 0, "not that of this body"},
		{strings.Replace(good, "t=", "t=0", 1), body, "s", noon, 0, "not that of this body"},
		{good, body, "", noon, 0, "no secret"},
		{signed("", body, noon), body, "", noon, 0, "no secret"},
		{"", body, "s", noon, 0, "there is none"},
		{"t=1", body, "s", noon, 0, "want t="},
		{"v1=00", body, "s", noon, 0, "want t="},
		{"t=,v1=", body, "s", noon, 0, "want t="},
		{good + ",t=1", body, "s", noon, 0, "two times"},
		{good[:len(good)-2], body, "s", noon, 0, "not that of this body"},
		{strings.Repeat("v1=00,", 20) + good, body, "s", noon, 0, "not that of this body"},
	} {
		err := save.Verify(c.secret, c.header, []byte(c.body), c.now, c.tolerance)
		if c.says == "" {
			require.NoError(t, err, c.header)
			continue
		}
		require.ErrorIs(t, err, save.ErrSignature, c.header)
		require.ErrorContains(t, err, c.says)
	}
	nonsense := signed("s", body, noon)
	nonsense = "t=soon" + nonsense[strings.Index(nonsense, ","):]
	require.ErrorIs(t, save.Verify("s", nonsense, []byte(body), noon, 0), save.ErrSignature)
}

// A receiver checks the signature over the bytes that came, stores the turn under its
// run id, and answers 2xx also when it has it already.
func ExampleVerify() {
	const secret = "from the configuration"
	http.HandleFunc("POST /turns", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
		if err != nil {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		if err := save.Verify(secret, r.Header.Get(save.SignatureHeader), body, time.Now(), 0); err != nil {
			http.Error(w, "not from our fabric", http.StatusUnauthorized)
			return
		}
		run := r.Header.Get("Idempotency-Key")
		_ = run // store body under run, unless it is stored already; 409 where the chat has moved on
		w.WriteHeader(http.StatusNoContent)
	})
}
