package producer

import "time"

// Hold lets what is published from now on wait for what is published next, so that both are
// stored together. It ends when the function returned is called, which it must be, or once
// limit has passed, or as soon as there is more than one record takes.
func (r *Run) Hold(limit time.Duration) (release func()) {
	r.mu.Lock()
	r.holds++
	r.mu.Unlock()
	over := false
	end := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !over {
			over = true
			r.holds--
			r.advance()
		}
	}
	late := time.AfterFunc(limit, end)
	return func() {
		late.Stop()
		end()
	}
}

// ready says whether there is something to store now. The caller holds mu.
func (r *Run) ready() bool {
	return len(r.queue.batches) > 0 && (r.holds == 0 || r.closing || len(r.queue.batches) > 1)
}
