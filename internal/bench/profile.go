package bench

import "context"

// profileEnv tells a child on which socket to serve its profiles.
const profileEnv = "REJOIN_BENCH_PPROF"

// profiles are those under way; nil are none.
type profiles struct{}

func (e *Env) beginProfiles(context.Context, Case) *profiles { return nil }

func (p *profiles) end() {}
