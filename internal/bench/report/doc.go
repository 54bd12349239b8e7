// Package report is what a benchmark says, and how that is shown, kept and compared.
//
//	result.go   Result: one case of one workload on one system, with figures and counts
//	median.go   several rounds of one result, made one
//	table.go    the table on the terminal
//	lines.go    one JSON object a line, written and read
//	compare.go  two sets of results beside one another
//
// Ordering: figures keep the order in which their workload adds them, results that in
// which they are made. Nothing here blocks, apart from the writer it is given, and nothing
// has a goroutine or a clock.
package report
