// Package ops holds the tests of how a fabric is operated: processes as they are shipped,
// that are told to stop, lose their broker, are scraped, and whose clocks are wrong.
//
// Times are written to the log and are not asserted: the machine may be busy with something
// else. What waits is bounded generously.
package ops
