package floor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// maxLine is the largest event that the server takes.
const maxLine = 4 << 20

// Server is the least that an SSE server can be. It is an http.Handler:
//
//	POST /t/TOPIC          publishes each line of the body as it comes
//	GET  /t/TOPIC?from=N   streams the events after the Nth; without from, those to come
//
// A stream begins with a comment. Its methods may be called from any goroutine.
type Server struct {
	mu     sync.Mutex
	topics map[string]*topic
	end    chan struct{}
	once   sync.Once
}

// NewServer makes a server without topics.
func NewServer() *Server { return &Server{topics: map[string]*topic{}, end: make(chan struct{})} }

// Close ends all streams. A second call does nothing.
func (s *Server) Close() { s.once.Do(func() { close(s.end) }) }

func (s *Server) topic(name string) *topic {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[name]
	if t == nil {
		t = &topic{more: make(chan struct{})}
		s.topics[name] = t
	}
	return t
}

// ServeHTTP publishes or streams.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const prefix = "/t/"
	if len(r.URL.Path) <= len(prefix) || r.URL.Path[:len(prefix)] != prefix {
		http.Error(w, "no topic: the path is /t/TOPIC", http.StatusNotFound)
		return
	}
	t := s.topic(r.URL.Path[len(prefix):])
	switch r.Method {
	case http.MethodPost:
		publish(w, r, t)
	case http.MethodGet:
		s.stream(w, r, t)
	default:
		http.Error(w, "GET or POST", http.StatusMethodNotAllowed)
	}
}

func publish(w http.ResponseWriter, r *http.Request, t *topic) {
	n := 0
	in := bufio.NewReaderSize(r.Body, 64<<10)
	var long []byte
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, line...); len(long) > maxLine {
				http.Error(w, "the line is too long", http.StatusRequestEntityTooLarge)
				return
			}
			continue
		}
		if len(long) > 0 {
			line = append(long, line...)
			long = long[:0]
		}
		if len(line) > 0 && line[len(line)-1] == '\n' {
			line = line[:len(line)-1]
		}
		if len(line) > 0 {
			t.add(line)
			n++
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return
		}
	}
	fmt.Fprintf(w, "{\"accepted\":%d}\n", n)
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, t *topic) {
	at := -1
	if from := r.URL.Query().Get("from"); from != "" {
		n, err := strconv.Atoi(from)
		if err != nil || n < 0 {
			http.Error(w, "from is a number of events", http.StatusBadRequest)
			return
		}
		at = n
	}
	pos := t.position(at)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w)
	if _, err := io.WriteString(w, ":\n\n"); err != nil || flush.Flush() != nil {
		return
	}
	for {
		frames, more := t.after(pos)
		if len(frames) == 0 {
			select {
			case <-more:
				continue
			case <-r.Context().Done():
				return
			case <-s.end:
				return
			}
		}
		if _, err := w.Write(frames); err != nil || flush.Flush() != nil {
			return
		}
		pos += len(frames)
	}
}
