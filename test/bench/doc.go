// Package bench runs rejoin bench as it is shipped, on the smallest cases there are: the
// processes that it starts, the results that it makes, the files that it writes. What the
// figures are is no claim here; that nothing is missing, doubled or out of order is.
//
//	main_test.go       the built command
//	command_test.go    the command itself: lines, table, profiles, what is left behind
//	resume_test.go     observers that attach
//	ingest_test.go     producers at full speed
//	poll_test.go       clients that ask again and again
//	workloads_test.go  paces, crowds and outages
//	results/           kept figures
//
// Each test has a broker and a relay of its own, in processes that die with it.
package bench
