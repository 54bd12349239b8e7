package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// EventsPath is where events of a run are posted.
func EventsPath(run string) string { return "/runs/" + run + "/events" }

// LivePath is where a run is watched by whoever holds nothing of it.
func LivePath(chat, run string) string {
	return "/chat/live?chat_id=" + url.QueryEscape(chat) + "&run_id=" + run
}

// CursorPath is where a run is watched by whoever holds everything up to seq.
func CursorPath(chat, run string, seq uint64) string {
	return LivePath(chat, run) + "&after_seq=" + strconv.FormatUint(seq, 10)
}

// StartRun makes a run in a chat. The error may be ErrStatus.
func (c *Conn) StartRun(chat string) (run string, err error) {
	body, err := json.Marshal(map[string]string{"chat_id": chat})
	if err != nil {
		return "", err
	}
	status, answer, err := c.Post("/runs", body)
	if err != nil {
		return "", err
	}
	var got struct {
		RunID string `json:"run_id"`
	}
	if err := Want(http.StatusCreated, status, answer); err != nil {
		return "", fmt.Errorf("making a run: %w", err)
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return "", fmt.Errorf("making a run: %w: %w", ErrProtocol, err)
	}
	return got.RunID, nil
}

// EndRun ends a run as done, and returns its last seq. The error may be ErrStatus.
func (c *Conn) EndRun(run string) (seq uint64, err error) {
	status, answer, err := c.Post("/runs/"+run+"/end", []byte(`{"persisted":true}`))
	if err != nil {
		return 0, err
	}
	var got struct{ Seq uint64 }
	if err := Want(http.StatusOK, status, answer); err != nil {
		return 0, fmt.Errorf("ending a run: %w", err)
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return 0, fmt.Errorf("ending a run: %w: %w", ErrProtocol, err)
	}
	return got.Seq, nil
}

// Want is nil for the status wanted, else an ErrStatus with what was answered.
func Want(want, status int, answer []byte) error {
	if status == want {
		return nil
	}
	return fmt.Errorf("%w: the answer is %d %.300q and not %d", ErrStatus, status, answer, want)
}
