// Package process runs commands that must not outlive their session: each in a
// process group of its own, which is ended with it.
//
//	process.go      Process: start, end, and what is known of its exit
//	stderr.go       standard error into the log, bounded
//	clean.go        what a process says, fit for a log or a page
//	group_unix.go   signals to the group, how a process ended, whether it still reads
//	group_linux.go  its start and end under Linux: it dies with us, and nothing can
//	                take the group's id before all of it is dead
//	group_bsd.go    its start and end under other Unixes
//	group_other.go  the process alone, where there are no groups
//
// Start returns at once. One goroutine a process waits for its end, kills what is left of
// its group, and reaps it; another drains standard error. Both are gone when Wait returns.
// Nobody blocks the process but who does not read Stdout.
//
// A launcher, such as npx or a shell script, has the real agent in its group: it is
// killed with the launcher, or when the launcher ends. A process that leaves the group
// (setsid) is beyond reach; most end when their standard input does.
package process
