package producer

import "context"

// Recall gives what was kept of the run's chat, whichever process kept it; nil for
// nothing.
func (r *Run) Recall(ctx context.Context) ([]byte, error) {
	return r.p.store.Memory(ctx, r.realm, r.chat)
}

// Remember keeps something of the run's chat for its next turns, in place of what was
// kept: at most subjects.MaxMemory bytes, for subjects.MemoryTTL.
func (r *Run) Remember(ctx context.Context, value []byte) error {
	return r.p.store.SetMemory(ctx, r.realm, r.chat, value)
}
