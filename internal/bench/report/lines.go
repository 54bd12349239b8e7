package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrLines is the error of what is no file of results.
var ErrLines = errors.New("not one result a line")

// maxLine bounds a result that is read.
const maxLine = 1 << 20

// WriteLine writes a result as one line of JSON.
func WriteLine(w io.Writer, r Result) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// ReadLines reads what WriteLine has written. The error wraps ErrLines, and names the line.
func ReadLines(r io.Reader) ([]Result, error) {
	var all []Result
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var one Result
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrLines, n, err)
		}
		if one.Workload == "" || one.Case == "" || one.System == "" {
			return nil, fmt.Errorf("%w: line %d names no workload, case or system", ErrLines, n)
		}
		all = append(all, one)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLines, err)
	}
	return all, nil
}
