// Package stats measures: how long things took, and when they are due.
//
//   - histogram.go: [Histogram], durations in buckets of less than 1 % width.
//   - schedule.go: [Schedule], the times at which an open loop sends, whatever became of
//     what it sent before.
//   - lateness.go: [Lateness], how well a generator kept to them.
//
// The package is pure: no clock, no goroutine, no I/O, and no allocation per value.
// Nothing here is safe for concurrent use; histograms of several goroutines are merged.
package stats
