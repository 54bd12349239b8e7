package relay

import (
	"fmt"

	"golang.org/x/sync/semaphore"
)

// Sitting is how many observers sit in rows.
func (s *Server) Sitting() int {
	s.audiences.mu.Lock()
	defer s.audiences.mu.Unlock()
	n := 0
	for _, a := range s.audiences.runs {
		a.mu.Lock()
		for _, r := range a.rows {
			n += r.size()
		}
		a.mu.Unlock()
	}
	return n
}

// Leftovers says what is held for requests at the moment, "" for nothing.
func (s *Server) Leftovers() string {
	held := map[string]int{}
	s.observers.mu.Lock()
	held["observers"], held["owners"], held["runs"] = len(s.observers.open), len(s.observers.owners.held)+len(s.observers.writers.held), len(s.observers.runs.held)
	if c := s.observers.guard; c != nil {
		c.mu.Lock()
		held["credentials"] = len(c.open)
		c.mu.Unlock()
	}
	s.observers.mu.Unlock()
	s.switches.mu.Lock()
	held["switches"] = len(s.switches.open)
	s.switches.mu.Unlock()
	s.histories.mu.Lock()
	held["histories"], held["owners of histories"] = s.histories.taken, len(s.histories.owners.held)
	s.histories.mu.Unlock()
	s.audiences.mu.Lock()
	held["audiences"] = len(s.audiences.runs)
	s.audiences.mu.Unlock()
	for name, room := range map[string]*semaphore.Weighted{"room": s.room, "aside": s.aside} {
		most := map[string]int64{"room": roomBytes, "aside": asideBytes}[name]
		if room.TryAcquire(most) {
			room.Release(most)
		} else {
			held[name] = 1
		}
	}
	for name, n := range held {
		if n == 0 {
			delete(held, name)
		}
	}
	if len(held) == 0 {
		return ""
	}
	return fmt.Sprint(held)
}
