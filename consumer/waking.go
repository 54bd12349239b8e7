package consumer

// waking is how those who have everything of a run are told that there is more. Most runs
// have one observer: one that waits alone is told through a channel that is used again and
// again; more are told by closing it. The zero value is ready; it is used under a lock.
type waking struct {
	c       chan struct{} // room for one
	waiting int           // who wait, none of them told yet; with c nil there are none
}

// wait gives a channel that can be received from, by the caller, once there is more.
func (w *waking) wait() <-chan struct{} {
	if w.waiting == 0 && len(w.c) > 0 {
		close(w.c) // what is left in it is for somebody else, who may have given up
		w.c = nil
	}
	if w.c == nil {
		w.c = make(chan struct{}, 1)
	}
	w.waiting++
	return w.c
}

// tell tells all who wait.
func (w *waking) tell() {
	switch w.waiting {
	case 0:
		return
	case 1:
		w.c <- struct{}{} // empty, or wait would have taken another
	default:
		close(w.c)
		w.c = nil
	}
	w.waiting = 0
}
