// Package proc starts the processes that a benchmark measures, and reads what they use.
//
//	set.go         Set: the children of this process, and how they are ended
//	child.go       Child: one of them, its address, output and end
//	usage.go       CPU time and memory of a process
//	tie_*.go       dying with the parent, as far as the system offers it
//	files_*.go     how many files a process may have open
//	errors.go      the sentinel errors
//
// A child says where it serves in one line on its standard output, of which the last word is
// the address. It ends when its standard input does, so that none outlives its parent even
// where the system does not see to it.
//
// Ordering: Start returns once the child serves; Kill and Set.Close once it is gone and
// reaped. Each child has two goroutines, one for each of its outputs; Kill waits for them.
// Usage never waits for anybody.
package proc
