package ops_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

func readAll(r *http.Request) string {
	b, _ := io.ReadAll(r.Body)
	return string(b)
}

// word is a part of every string that a user sends in the test below.
const word = "zebra"

// OPS-03: thousands of runs, chats, users, turns, bad paths and bad methods. The number of series
// of a relay, a worker and a janitor stays as it is, below 500, and nothing that a user sent
// is in any of them.
func TestOPS03_SeriesStayHoweverManyUsersThereAre(t *testing.T) {
	t.Parallel()
	b, f := broker(t)
	answers, _ := agent(t)
	r := relay(f, "--retain", "5s") // so that runs leave, too
	_, workerURL := beside(t, f, b.NATS, "worker", "--agent", "agui", "--url", answers, "--retain", "5s")
	_, janitorURL := beside(t, f, b.NATS, "janitor", "--retain", "5s")
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	t.Cleanup(transport.CloseIdleConnections)
	u := &users{t: t, url: r.URL, http: &http.Client{Transport: transport}}

	const turns, runs, strays = 150, 2_000, 2_000
	turn := func(i int) { u.turn(i) }
	each(10, turn) // whatever may happen has happened once
	each(20, u.run)
	each(20, u.stray)
	u.settle(workerURL)
	all := []string{r.URL, workerURL, janitorURL}
	before := make([][]string, len(all))
	for i, url := range all {
		numbers(t, url) // asking is counted, too
		before[i] = seriesOf(numbers(t, url))
	}

	from := time.Now()
	var work sync.WaitGroup
	work.Go(func() { each(turns, turn) })
	work.Go(func() { each(runs, u.run) })
	work.Go(func() { each(strays, u.stray) })
	work.Wait()
	u.settle(workerURL)
	for i, url := range all {
		m := numbers(t, url)
		after := seriesOf(m)
		require.Equal(t, before[i], after)
		require.Less(t, len(after), 500)
		require.NotContains(t, strings.ToLower(m), word)
		require.NotContains(t, m, "0-0", "no run id")
		named(t, m)
		t.Logf("%d series", len(after))
	}
	t.Logf("%d turns, %d runs, %d times bad paths, methods and bodies in %v", turns, runs, strays, since(from))
}

// each does something many times, a few at once.
func each(n int, do func(int)) {
	var work sync.WaitGroup
	const hands = 8
	for h := range hands {
		work.Go(func() {
			for i := h; i < n; i += hands {
				do(i)
			}
		})
	}
	work.Wait()
}

// users send whatever comes to their minds. Answers are not looked at, but where one is needed.
type users struct {
	t    *testing.T
	url  string
	http *http.Client
}

func (u *users) ask(method, path, body string, header ...string) string {
	req, err := http.NewRequestWithContext(u.t.Context(), method, u.url+path, strings.NewReader(body))
	if err != nil {
		u.t.Errorf("%s %s: %v", method, path, err)
		return ""
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := u.http.Do(req)
	if err != nil {
		u.t.Errorf("%s %s: %v", method, path, err)
		return ""
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return string(answer)
}

// turn sends a turn of a new user in a new chat. Some fail.
func (u *users) turn(i int) {
	name := fmt.Sprintf("%s-turn-%d-%d", word, i, time.Now().UnixNano())
	say := "hi"
	if i%5 == 0 {
		say = "fail"
	}
	u.ask(http.MethodPost, "/chat/send", fmt.Sprintf(`{"chat_id":%q,"kind":"send","client_token":%q,"input":{"text":%q}}`, name, name, say+" "+word))
}

// run writes a run of a new user in a new chat, and reads it.
func (u *users) run(i int) {
	name := fmt.Sprintf("%s-run-%d-%d", word, i, time.Now().UnixNano())
	_, id, ok := strings.Cut(u.ask(http.MethodPost, "/runs", fmt.Sprintf(`{"chat_id":%q,"owner":%q,"kind":%q}`, name, name, name)), `"run_id":"`)
	if !ok {
		u.t.Error("a run was not started")
		return
	}
	id, _, _ = strings.Cut(id, `"`)
	u.ask(http.MethodPost, "/runs/"+id+"/events", fmt.Sprintf(`{"type":%q}`, name))
	u.ask(http.MethodPost, "/runs/"+id+"/end", fmt.Sprintf(`{"persisted":true,"reason":%q}`, name))
	u.ask(http.MethodPost, "/runs/"+id+"/end", `{}`)
	u.ask(http.MethodPost, "/chat/live", fmt.Sprintf(`{"chat_id":%q,"protocol":1}`, name))
}

// stray asks for what is not there, in ways that do not exist.
func (u *users) stray(i int) {
	name := fmt.Sprintf("%s%d", word, i)
	switch i % 5 {
	case 0:
		u.ask(http.MethodGet, "/"+name, "")
	case 1:
		u.ask(strings.ToUpper(name), "/chat/live", name)
	case 2:
		u.ask(http.MethodGet, "/runs/"+name+"/snapshot", "", "User-Agent", name, "If-None-Match", name)
	case 3:
		u.ask(http.MethodGet, "/chat/live?chat_id="+url.QueryEscape(name)+"&"+name+"="+name, "", "Last-Event-ID", name)
	case 4:
		u.ask(http.MethodDelete, "/runs/"+name+"/"+name, "", "Authorization", "Bearer "+name, "Origin", "http://"+name)
	}
}

// settle waits until the worker has nothing to do.
func (u *users) settle(worker string) {
	u.t.Helper()
	harness.Eventually(u.t, "all turns are over", func() bool {
		m := numbers(u.t, worker)
		begun := value(m, "rejoin_turns_begun_total")
		return begun != "0" && value(m, "rejoin_turn_seconds_count") == begun && value(m, "rejoin_turns_claimed_total") == begun
	})
}
