package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

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
	p     *[]time.Duration
	most  time.Duration
	given string
}

func (v *times) Set(s string) error {
	var list []time.Duration
	for part := range strings.SplitSeq(s, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || d <= 0 || d > v.most {
			return fmt.Errorf("bad value %q", s)
		}
		list = append(list, d)
	}
	*v.p = append(*v.p, list...)
	v.given = strings.Trim(v.given+","+s, ",")
	return nil
}

func (v *times) String() string { return v.given }
func (v *times) Allowed() string {
	return fmt.Sprintf("one or more times up to %v, separated by commas, such as 30s,2m,10m", v.most)
}
func (v *times) Kind() string { return "TIME[,TIME]" }
