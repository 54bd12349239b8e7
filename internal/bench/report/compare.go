package report

import (
	"fmt"
	"io"
	"strings"
)

// Compare writes what became of each figure that both sets have: old, new, and their
// ratio; of figures that are ratios to a floor, those too, which is what to look at where
// machines differ. Results of the same workload, case and system belong together, the last
// of several counts.
func Compare(w io.Writer, before, after []Result) error {
	type key struct{ workload, kase, system string }
	old := map[key]Result{}
	for _, r := range before {
		old[key{r.Workload, r.Case, r.System}] = r
	}
	out := &Table{w: w}
	warned, shown, missing := false, 0, 0
	for _, r := range after {
		was, ok := old[key{r.Workload, r.Case, r.System}]
		if !ok {
			missing++
			continue
		}
		if diff := differ(was, r); diff != "" && !warned {
			warned = true
			out.print("not measured alike: %s. Compare ratios to floors only.\n", diff)
		}
		title := r.Workload + ": " + r.Case + ", " + r.System
		for _, f := range r.Figures {
			before := was.Figure(f.Name)
			if before == nil {
				continue
			}
			if title != "" {
				out.print("\n%s\n", title)
				title = ""
			}
			shown++
			out.print("%s\n", strings.TrimRight(fmt.Sprintf("  %-28s %12s %12s %-9s %8s %-7s %s",
				f.Name, number(before.Value), number(f.Value), f.Unit, change(before.Value, f.Value), verdict(f, before.Value, f.Value), ratios(*before, f)), " "))
		}
		if r.Counts.Wrong() {
			out.print("  %s\n", counts(r.Counts))
		}
	}
	switch {
	case shown == 0:
		out.print("nothing in it was measured this time\n")
	case missing > 0:
		out.print("\n%d results are new\n", missing)
	}
	return out.err
}

// differ says how the conditions of two results differ; "" means that they do not.
func differ(a, b Result) string {
	var d []string
	for _, c := range []struct{ what, a, b string }{
		{"cpu", a.CPU, b.CPU},
		{"cores", fmt.Sprint(a.Cores), fmt.Sprint(b.Cores)},
		{"sync_interval", a.SyncInterval, b.SyncInterval},
		{"partitions", fmt.Sprint(a.Partitions), fmt.Sprint(b.Partitions)},
		{"go", a.GoVersion, b.GoVersion},
	} {
		if c.a != c.b {
			d = append(d, fmt.Sprintf("%s was %s, is %s", c.what, c.a, c.b))
		}
	}
	return strings.Join(d, "; ")
}

func change(before, after float64) string {
	if before == 0 {
		return ""
	}
	return fmt.Sprintf("×%.2f", after/before)
}

// noise is by how much a figure may differ without meaning anything.
const noise = 1.10

func verdict(f Figure, before, after float64) string {
	if f.More {
		before, after = after, before
	}
	switch {
	case after > before*noise:
		return "worse"
	case after*noise < before:
		return "better"
	}
	return ""
}

func ratios(before, after Figure) string {
	if before.Over == "" || before.Over != after.Over {
		return ""
	}
	return fmt.Sprintf("%s → %s× %s", number(before.Ratio), number(after.Ratio), after.Over)
}
