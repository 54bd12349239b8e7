package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Usage is what a process has used, and what it holds.
type Usage struct {
	CPU time.Duration // user and system time since it began, in steps of 10 ms
	RSS int64         // bytes of memory that it holds now
}

// ticks a second is the unit of /proc/PID/stat; Linux has the same one for all programs.
const ticks = 100

// Self is what this process uses. The error is ErrUsage where there is no /proc.
func Self() (Usage, error) { return Of(os.Getpid()) }

// Of is what a process uses. The error is ErrUsage where there is no /proc, or no such
// process.
func Of(pid int) (Usage, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return Usage{}, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	// The name in brackets may hold anything; what follows the last one is numbers.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const utime, stime, rss = 11, 12, 21 // fields 14, 15 and 24 of proc(5)
	if len(fields) <= rss {
		return Usage{}, fmt.Errorf("%w: %s/stat is short", ErrUsage, dir)
	}
	var n [3]int64
	for i, at := range []int{utime, stime, rss} {
		if n[i], err = strconv.ParseInt(string(fields[at]), 10, 64); err != nil {
			return Usage{}, fmt.Errorf("%w: %s/stat: %w", ErrUsage, dir, err)
		}
	}
	return Usage{CPU: time.Duration(n[0]+n[1]) * time.Second / ticks, RSS: n[2] * int64(os.Getpagesize())}, nil
}
