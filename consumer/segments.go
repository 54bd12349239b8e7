package consumer

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// cachedPart is the part of HubConfig.MaxBytes that segments of hot runs may take besides.
const cachedPart = 4

// segments keeps the segments of runs that somebody has just needed: who attaches next
// needs the same. A segment never changes, so what is here is right, but not all there is.
// Room that no run was asked for in a while is given back, see HubConfig.Linger.
type segments struct {
	limit int

	mu    sync.Mutex
	runs  map[subjects.RunID]*list.Element
	order list.List // of *keptSegments, that which was needed last at the back
	bytes int
}

type keptSegments struct {
	id    subjects.RunID
	all   []runs.SegmentData // from the first one on
	bytes int
	used  time.Time
}

// of gives what is kept of a run. It is not to be changed.
func (s *segments) of(id subjects.RunID) []runs.SegmentData {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.runs[id]
	if at == nil {
		return nil
	}
	s.order.MoveToBack(at)
	k := at.Value.(*keptSegments)
	k.used = time.Now()
	return k.all
}

// keep adds what follows the segments that are kept of a run.
func (s *segments) keep(id subjects.RunID, all []runs.SegmentData) {
	bytes := 0
	for i := range all {
		bytes += len(all[i].Events)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.runs[id]; at != nil {
		if len(at.Value.(*keptSegments).all) >= len(all) {
			return
		}
		s.drop(at)
	}
	if len(all) == 0 || bytes > s.limit {
		return
	}
	for s.bytes+bytes > s.limit {
		s.drop(s.order.Front())
	}
	s.runs[id] = s.order.PushBack(&keptSegments{id, slices.Clip(all), bytes, time.Now()})
	s.bytes += bytes
}

// drop forgets one run. Callers hold mu.
func (s *segments) drop(at *list.Element) {
	k := s.order.Remove(at).(*keptSegments)
	delete(s.runs, k.id)
	s.bytes -= k.bytes
}

// dropUnused forgets the runs that nobody asked for since a time.
func (s *segments) dropUnused(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := s.order.Front(); at != nil && at.Value.(*keptSegments).used.Before(since); at = s.order.Front() {
		s.drop(at)
	}
}
