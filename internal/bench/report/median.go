package report

import "slices"

// Medians makes one of several rounds of the same results: of each figure the median, of
// counts the sum. Rounds of one are returned as they are.
func Medians(rounds [][]Result) []Result {
	if len(rounds) == 0 {
		return nil
	}
	if len(rounds) == 1 {
		return rounds[0]
	}
	out := slices.Clone(rounds[0])
	for i := range out {
		r := &out[i]
		r.Rounds, r.Figures, r.Counts = len(rounds), slices.Clone(r.Figures), Counts{}
		var same []Result
		for _, round := range rounds {
			for _, o := range round {
				if o.System == r.System && o.Case == r.Case && o.Workload == r.Workload {
					same = append(same, o)
					r.Counts.Add(o.Counts)
					break
				}
			}
		}
		for j := range r.Figures {
			f := &r.Figures[j]
			f.Value = middle(same, f.Name, func(f *Figure) float64 { return f.Value })
			f.Ratio = middle(same, f.Name, func(f *Figure) float64 { return f.Ratio })
		}
		r.CPUShare = map[string]float64{}
		for name := range rounds[0][i].CPUShare {
			r.CPUShare[name] = median(same, func(o Result) (float64, bool) { v, ok := o.CPUShare[name]; return v, ok })
		}
	}
	return out
}

func middle(same []Result, name string, of func(*Figure) float64) float64 {
	return median(same, func(o Result) (float64, bool) {
		f := o.Figure(name)
		if f == nil {
			return 0, false
		}
		return of(f), true
	})
}

// median is the middle of what the results have of something, the lower of two.
func median(of []Result, value func(Result) (float64, bool)) float64 {
	var all []float64
	for _, r := range of {
		if v, ok := value(r); ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
