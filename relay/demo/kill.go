package demo

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/rejoin/rejoin/internal/problem"
)

// Death is what follows a kill: how long what the dead producer wrote looks alive at most,
// and when another takes its place.
type Death struct {
	Lease time.Duration
	Back  time.Duration
}

// kill serves POST /demo/kill. Only the page may ask for it: a page from elsewhere must not
// be able to kill what runs on the machine of somebody who looks at it. A request that
// no browser has sent may, as it may do anything else that the relay allows.
func kill(kill func() Death) http.HandlerFunc {
	foreign := http.NewCrossOriginProtection()
	return func(w http.ResponseWriter, r *http.Request) {
		if err := foreign.Check(r); err != nil {
			problem.Write(w, problem.New(problem.Forbidden, "the producer is killed from the demo's own page only, and not from another origin").Because(err))
			return
		}
		if kill == nil {
			problem.Write(w, problem.New(problem.NotFound, "there is no producer in this process that can be killed"))
			return
		}
		d := kill()
		body, err := json.Marshal(struct {
			Status  string `json:"status"`
			LeaseMS int64  `json:"lease_ms"`
			BackMS  int64  `json:"back_ms"`
		}{"killed", d.Lease.Milliseconds(), d.Back.Milliseconds()})
		if err != nil {
			problem.Write(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(append(body, '\n')) // a client that left needs no answer
	}
}
