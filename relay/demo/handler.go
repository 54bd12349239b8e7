package demo

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/rejoin/rejoin/internal/problem"
)

// Config says what the page can do where it is served. The zero value is right for a
// relay that knows nothing of the workers and authenticates nobody.
type Config struct {
	// Kill makes the producer of this process die as with kill -9, and says what happens
	// next. It may be called at any time, from anywhere; nil means that nobody can.
	Kill func() Death
	// Lease is how long a dead producer's runs look alive, for the page's words.
	Lease time.Duration
	// Tokens says that requests need one, for which the page then has a field.
	Tokens bool
	// Agent says that the demo's own agent answers, whose words the page suggests.
	Agent bool
}

// Path is where the page is; everything of it is there or below.
const Path = "/demo"

// policy lets the page use what comes from its own origin as files, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// writeTimeout bounds how long an answer may take to go out.
const writeTimeout = 30 * time.Second

// setup is what the page asks first.
type setup struct {
	Tokens  bool  `json:"tokens"`
	Kill    bool  `json:"kill"`
	Agent   bool  `json:"agent"`
	LeaseMS int64 `json:"lease_ms"`
}

// Handler serves the page at Path, its files and /demo/setup below it, and POST
// /demo/kill. Whoever routes to it says who may do what.
func Handler(cfg Config) http.Handler {
	about, err := json.Marshal(setup{cfg.Tokens, cfg.Kill != nil, cfg.Agent, cfg.Lease.Milliseconds()})
	if err != nil {
		panic(err) // three switches and a number
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path+"/setup", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(append(about, '\n')) // a client that left needs no answer
	})
	mux.HandleFunc("POST "+Path+"/kill", kill(cfg.Kill))
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, r *http.Request) { serve(w, r, index) })
	mux.HandleFunc("GET "+Path+"/{$}", func(w http.ResponseWriter, r *http.Request) {
		to := *r.URL
		to.Scheme, to.Host, to.Path = "", "", Path
		http.Redirect(w, r, to.String(), http.StatusPermanentRedirect)
	})
	mux.HandleFunc("GET "+Path+"/{file}", func(w http.ResponseWriter, r *http.Request) {
		if name := r.PathValue("file"); name != index {
			serve(w, r, name)
			return
		}
		missing(w)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
		mux.ServeHTTP(w, r)
	})
}

// serve answers with a file, or that the browser's copy is still good.
func serve(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := files()[name]
	if !ok {
		missing(w)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Cache-Control", "no-cache") // the next build has the same names
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(f.body))
}

func missing(w http.ResponseWriter) {
	problem.Write(w, problem.New(problem.NotFound, "the demo has no such file; its page is at %s", Path))
}
