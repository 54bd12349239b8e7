package problem_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/problem"
)

// FuzzDecode claims: whatever arrives, either it is a JSON object whose string
// came through unchanged, or the answer is a well-formed problem.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"chat_id":"a","wait_ms":1}`, `{"chat_id":"\ud83d\ude00"}`, `{"chat_id":"\ud800"}`, "{\"chat_id\":\"\xff\"}",
		`[]`, `null`, `{"wait_ms":1e3}`, `{"outcome":{"X":1.5}}`, `{"chat_id":"a"}x`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var v request
		err := problem.Decode(in, &v)
		if err == nil {
			if !json.Valid(in) {
				t.Fatalf("accepted what is no JSON: %q", in)
			}
			if strings.ContainsRune(v.ChatID, utf8.RuneError) && !strings.Contains(string(in), "�") &&
				!strings.Contains(strings.ToLower(string(in)), `\ufffd`) {
				t.Fatalf("a character was replaced silently: %q", in)
			}
			return
		}
		w := httptest.NewRecorder()
		problem.Write(w, err)
		if w.Code != 400 || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%d %s for %q", w.Code, w.Body, in)
		}
		for _, c := range w.Body.Bytes() {
			if c < ' ' && c != '\n' {
				t.Fatalf("control character in %q", w.Body)
			}
		}
	})
}
