package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table shows results to people, each as it is made. The zero value is not usable; see
// NewTable. One goroutine uses it.
type Table struct {
	w        io.Writer
	machine  string
	workload string
	kase     string
	err      error
}

// NewTable makes a table that is written to w.
func NewTable(w io.Writer) *Table { return &Table{w: w} }

// Add writes a result. The error is that of the writer, also of an earlier result.
func (t *Table) Add(r Result) error {
	if m := machine(r); m != t.machine {
		t.machine = m
		t.print("%s\n", m)
	}
	if r.Workload != t.workload || r.Case != t.kase {
		t.workload, t.kase = r.Workload, r.Case
		t.print("\n%s: %s\n", r.Workload, r.Case)
	}
	system := r.System
	for _, f := range r.Figures {
		t.print("%s\n", strings.TrimRight(fmt.Sprintf("  %-16s %-28s %12s %-9s %-22s %s", system, f.Name, number(f.Value), f.Unit, ratio(f), target(f)), " "))
		system = ""
	}
	if s := counts(r.Counts); s != "" {
		t.print("  %-16s %-28s %s\n", system, "events", s)
		system = ""
	}
	if s := shares(r.CPUShare); s != "" {
		t.print("  %-16s %-28s %s\n", system, "CPU, % of a core", s)
	}
	if r.Note != "" {
		t.print("  %-16s %s\n", "", r.Note)
	}
	return t.err
}

func (t *Table) print(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func machine(r Result) string {
	return fmt.Sprintf("%s, %s, %d cores of %s; broker with sync_interval %s, %d partitions",
		r.Commit, r.GoVersion, r.Cores, r.CPU, r.SyncInterval, r.Partitions)
}

func ratio(f Figure) string {
	if f.Over == "" {
		return ""
	}
	return number(f.Ratio) + "× " + f.Over
}

// target says what a figure was meant to be, and whether it is.
func target(f Figure) string {
	if f.Target == 0 {
		return ""
	}
	sign, unit := "≤", " "+f.Unit
	if f.More {
		sign = "≥"
	}
	if f.OfRatio {
		unit = "×"
	}
	verdict := "met"
	if !f.Met() {
		verdict = "NOT MET"
	}
	return fmt.Sprintf("%s %s%s %s", sign, number(f.Target), strings.TrimRight(unit, " "), verdict)
}

func counts(c Counts) string {
	if c == (Counts{}) {
		return ""
	}
	s := fmt.Sprintf("%s of %s delivered", number(float64(c.Delivered)), number(float64(c.Expected)))
	if c.Late > 0 {
		s += fmt.Sprintf(", %s sent late", number(float64(c.Late)))
	}
	if c.Wrong() {
		s += fmt.Sprintf("; WRONG: %d missing, %d doubled, %d out of order", c.Missing, c.Doubled, c.OutOfOrder)
	}
	return s
}

func shares(of map[string]float64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s %.0f", name, of[name]))
	}
	return strings.Join(parts, ", ")
}

// number is a number with three digits that count, and thousands apart.
func number(v float64) string {
	a := math.Abs(v)
	switch {
	case a == 0 || a >= 1e15:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a < 0.01:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case a < 10:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 2, 64), ".00")
	case a < 100:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	}
	return grouped(strconv.FormatInt(int64(math.Round(v)), 10))
}

func grouped(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
