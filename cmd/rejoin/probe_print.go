package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/internal/probe"
)

// checkPrinter shows checks as they are made: as a table, or as JSON.
type checkPrinter struct {
	w    io.Writer
	json bool
	safe bool // standard output is a terminal
	n    int
	err  error // the first of writing
}

// checkLine is a check as JSON.
type checkLine struct {
	Check    string `json:"check"`
	OK       bool   `json:"ok"`
	Expected string `json:"expected"`
	Seen     string `json:"seen"`
	MS       int64  `json:"ms"`
}

const checkRow = "%-6s %-25s %-54s %7s  %s\n"

func (p *checkPrinter) check(c probe.Check) {
	if p.n++; p.json {
		line, err := json.Marshal(checkLine{c.Name, c.OK, c.Expected, c.Seen, c.Took.Milliseconds()})
		if err == nil && p.safe {
			line = jsonForTerminal(line)
		}
		p.write("%s\n", line)
		return
	}
	if p.n == 1 {
		p.write(checkRow, "", "check", "expected", "ms", "seen")
	}
	word := "ok"
	if !c.OK {
		word = "FAILED"
	}
	p.write(checkRow, word, c.Name, c.Expected, fmt.Sprint(c.Took.Milliseconds()), printable(c.Seen))
}

// verdict shows the last line of the table.
func (p *checkPrinter) verdict(s string) error {
	if !p.json {
		p.write("\n%s\n", s)
	}
	return p.err
}

func (p *checkPrinter) write(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format, args...); err != nil && p.err == nil {
		p.err = err
	}
}

// times is a list of times, given at once or one after the other.
type times struct {
	config.Value
	p   *[]time.Duration
	one *string // what was given last
}

func timeList(p *[]time.Duration) config.Value {
	v := times{p: p, one: new(string)}
	v.Value = config.Text(v.one, "TIME[,TIME]", "one or more times up to 24h, separated by commas, such as 30s,2m,10m",
		func(s string) bool { return parseTimes(s) != nil })
	return v
}

// Set adds to what was given before.
func (v times) Set(s string) error {
	err := v.Value.Set(s)
	if err == nil {
		*v.p = append(*v.p, parseTimes(s)...)
	}
	return err
}

// parseTimes is nil for what is no list of times.
func parseTimes(s string) (list []time.Duration) {
	for part := range strings.SplitSeq(s, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || d <= 0 || d > day {
			return nil
		}
		list = append(list, d)
	}
	return list
}
