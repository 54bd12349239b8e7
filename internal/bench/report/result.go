package report

import "time"

// What Result.System may be. The first is what is measured, the others are floors: the
// least that the same work costs on the same machine.
const (
	Rejoin    = "rejoin"
	BareSSE   = "bare sse"
	BareNATS  = "bare nats"
	JetStream = "jetstream async"
	Copy      = "copy"
)

// Result is one case of one workload on one system.
type Result struct {
	Date         time.Time `json:"date"`
	Commit       string    `json:"commit"`
	GoVersion    string    `json:"go"`
	CPU          string    `json:"cpu"` // the model's name
	Cores        int       `json:"cores"`
	SyncInterval string    `json:"sync_interval"` // of the broker
	Partitions   int       `json:"partitions"`
	Rounds       int       `json:"rounds,omitempty"` // of which figures are medians; 0 means one

	Workload string `json:"workload"`
	Case     string `json:"case"`
	System   string `json:"system"`

	Figures  []Figure           `json:"figures"`
	Counts   Counts             `json:"counts"`
	CPUShare map[string]float64 `json:"cpu_share,omitempty"` // % of one core while it was measured, by process
	Note     string             `json:"note,omitempty"`
}

// Figure is one number of a Result.
type Figure struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"` // such as ms, events/s, KiB; "" for a bare number
	Value  float64 `json:"value"`
	Ratio  float64 `json:"ratio,omitempty"`  // Value over that of Over; 0 means none
	Over   string  `json:"over,omitempty"`   // what Ratio is relative to, such as BareSSE
	Target float64 `json:"target,omitempty"` // what Value is meant to be; 0 means nothing is promised
	// OfRatio says that Target is meant for Ratio and not for Value.
	OfRatio bool `json:"of_ratio,omitempty"`
	// More says that larger is better; otherwise smaller is.
	More bool `json:"more,omitempty"`
}

// Met says whether a figure with a target reaches it.
func (f Figure) Met() bool {
	v := f.Value
	if f.OfRatio {
		v = f.Ratio
	}
	if f.More {
		return v >= f.Target
	}
	return v <= f.Target
}

// Counts say whether what was measured was also right.
type Counts struct {
	Expected   uint64 `json:"expected"`
	Delivered  uint64 `json:"delivered"`
	Missing    uint64 `json:"missing"`
	Doubled    uint64 `json:"doubled"`
	OutOfOrder uint64 `json:"out_of_order"`
	Late       uint64 `json:"late"` // sent more than 1 ms after they were due, by the generator's fault
}

// Add adds o's counts to c's.
func (c *Counts) Add(o Counts) {
	c.Expected += o.Expected
	c.Delivered += o.Delivered
	c.Missing += o.Missing
	c.Doubled += o.Doubled
	c.OutOfOrder += o.OutOfOrder
	c.Late += o.Late
}

// Wrong says whether anything was lost, repeated or out of order.
func (c Counts) Wrong() bool { return c.Missing+c.Doubled+c.OutOfOrder > 0 }

// Add appends a figure and returns where it is, to give it a ratio or a target.
func (r *Result) Add(name, unit string, value float64) *Figure {
	r.Figures = append(r.Figures, Figure{Name: name, Unit: unit, Value: value})
	return &r.Figures[len(r.Figures)-1]
}

// Millis appends a time in milliseconds.
func (r *Result) Millis(name string, d time.Duration) *Figure {
	return r.Add(name, "ms", float64(d)/float64(time.Millisecond))
}

// Figure finds a figure by its name; nil means there is none.
func (r *Result) Figure(name string) *Figure {
	for i := range r.Figures {
		if r.Figures[i].Name == name {
			return &r.Figures[i]
		}
	}
	return nil
}

// AtMost gives the figure a target that it must not exceed.
func (f *Figure) AtMost(target float64) *Figure { f.Target, f.More = target, false; return f }

// AtLeast gives the figure a target that it must reach.
func (f *Figure) AtLeast(target float64) *Figure { f.Target, f.More = target, true; return f }

// Relative gives the figure its ratio to what another system, over, needs.
func (f *Figure) Relative(value float64, over string) *Figure {
	if value > 0 {
		f.Ratio, f.Over = f.Value/value, over
	}
	return f
}

// RatioAtMost gives the figure's ratio a target that it must not exceed.
func (f *Figure) RatioAtMost(target float64) *Figure {
	f.Target, f.More, f.OfRatio = target, false, true
	return f
}

// Against gives every figure of r its ratio to the one of the same name of floor.
func (r *Result) Against(floor Result) {
	for i := range r.Figures {
		if f := floor.Figure(r.Figures[i].Name); f != nil {
			r.Figures[i].Relative(f.Value, floor.System)
		}
	}
}
