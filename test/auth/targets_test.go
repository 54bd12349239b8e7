package auth_test

import (
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/rejoin/rejoin/subjects"
)

// target is a run of a chat: the caller's own, somebody else's, or one that does not exist.
type target struct {
	chat, run string
}

// request is what is asked of a route about a target.
type request struct{ path, body string }

// asked says for each route what is asked of it. A route that makes something new in the
// caller's own realm, whatever the target, is new.
var asked = map[string]struct {
	about func(target) request
	new   bool
	// own is the status for the owner of the run, or for its tenant's producer.
	own int
}{
	"POST /chat/live": {about: func(t target) request {
		return request{"/chat/live", body("chat_id", t.chat, "protocol", 1, "run_id", t.run)}
	}, own: 200},
	"GET /chat/live": {about: func(t target) request { return request{"/chat/live?chat_id=" + t.chat, ""} }, own: 200},
	"POST /chats/live": {about: func(t target) request {
		return request{"/chats/live", body("protocol", 1, "chats", []map[string]any{{"chat_id": t.chat, "run_id": t.run}})}
	}, own: 200},
	"GET /chat/{chat_id}/history": {about: func(t target) request { return request{"/chat/" + t.chat + "/history", ""} }, own: 200},
	"GET /chat/{chat_id}/session": {about: func(t target) request { return request{"/chat/" + t.chat + "/session", ""} }, own: 200},
	"GET /runs/active":            {about: func(target) request { return request{"/runs/active", ""} }, own: 200},
	"GET /runs/{run_id}":          {about: func(t target) request { return request{"/runs/" + t.run, ""} }, own: 200},
	"GET /runs/{run_id}/snapshot": {about: func(t target) request { return request{"/runs/" + t.run + "/snapshot", ""} }, own: 200},
	"GET /runs/{run_id}/controls": {about: func(t target) request { return request{"/runs/" + t.run + "/controls", ""} }, own: 200},
	"POST /chat": {about: func(t target) request {
		return request{"/chat", body("chat_id", t.chat, "protocol", 1, "input", map[string]string{"text": "hi"}, "on_active", "supersede")}
	}, new: true, own: 200},
	"POST /agui/{chat_id}": {about: func(t target) request {
		return request{"/agui/" + t.chat, body("messages", []map[string]string{{"id": "u", "role": "user", "content": "hi"}})}
	}, new: true, own: 200},
	"POST /api/chat": {about: func(t target) request {
		return request{"/api/chat", body("id", t.chat, "messages", []map[string]any{{"id": "u", "role": "user", "parts": []map[string]string{{"type": "text", "text": "hi"}}}})}
	}, new: true, own: 200},
	"GET /api/chat/{chat_id}/stream": {about: func(t target) request { return request{"/api/chat/" + t.chat + "/stream?run_id=" + t.run, ""} }, own: 200},
	"POST /chat/send": {about: func(t target) request {
		return request{"/chat/send", body("chat_id", t.chat, "input", map[string]string{"text": "hi"}, "on_active", "supersede")}
	}, new: true, own: 202},
	"POST /chat/steer-send": {about: func(t target) request {
		return request{"/chat/steer-send", body("chat_id", t.chat, "input", map[string]string{"text": "hi"})}
	}, new: true, own: 202},
	"POST /chat/stop": {about: func(t target) request { return request{"/chat/stop", body("chat_id", t.chat, "run_id", t.run)} }, own: 202},
	"POST /chat/answer": {about: func(t target) request {
		return request{"/chat/answer", body("chat_id", t.chat, "run_id", t.run, "request_id", "q", "outcome", map[string]string{"outcome": "selected", "optionId": "yes"})}
	}, own: 200},
	"POST /runs":                    {about: func(t target) request { return request{"/runs", body("chat_id", t.chat)} }, new: true, own: 201},
	"POST /runs/{run_id}/events":    {about: func(t target) request { return request{"/runs/" + t.run + "/events", delta(9)} }, own: 200},
	"POST /runs/{run_id}/heartbeat": {about: func(t target) request { return request{"/runs/" + t.run + "/heartbeat", ""} }, own: 204},
	"POST /runs/{run_id}/end":       {about: func(t target) request { return request{"/runs/" + t.run + "/end", body("persisted", true)} }, own: 200},
	"GET /admin/switch":             {about: func(target) request { return request{"/admin/switch", ""} }, own: 200},
	"PUT /admin/switch":             {about: func(target) request { return request{"/admin/switch", body("percent", 0)} }, own: 200},
	"GET /livez":                    {about: func(target) request { return request{"/livez", ""} }, own: 200},
	"HEAD /livez":                   {about: func(target) request { return request{"/livez", ""} }, own: 200},
	"GET /readyz":                   {about: func(target) request { return request{"/readyz", ""} }, own: 200},
	"HEAD /readyz":                  {about: func(target) request { return request{"/readyz", ""} }, own: 200},
	"GET /metrics":                  {about: func(target) request { return request{"/metrics", ""} }, own: 200},
	"GET /openapi.json":             {about: func(target) request { return request{"/openapi.json", ""} }, own: 200},
}

// question opens one in a run that is fed over HTTP.
const question = `{"type":"CUSTOM","name":"test.ask.request","value":{"requestId":"q","status":"pending","options":["yes","no"]}}`

// fresh is a name that no chat has yet, without anything that a path would escape.
func fresh() string { return "chat-" + strings.ToLower(rand.Text()) }

// owned is a new chat of somebody with a run in it that asks something.
func (w *world) owned(by who) target {
	w.Helper()
	chat := fresh()
	return target{chat, w.produce(by, chat, delta(1), question)}
}

// unknown is a target that nobody has.
func unknown() target { return target{fresh(), string(subjects.NewRunID(0))} }

// hide replaces what the caller itself sent.
func (t target) hide(text string) string {
	return strings.NewReplacer(t.run, "RUN", t.chat, "CHAT").Replace(text)
}

// roles says which of the callers with a role may use a route at all.
var roles = map[string][]string{
	"observing": {"observer"},
	"watcher":   {"observer"},
	"reader":    {"observer", "producer"},
	"producer":  {"producer"},
	"admin":     {"admin"},
}

// routes asks the relay which routes it has, and who may use each.
func (w *world) routes() map[string]string {
	w.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Access string `json:"x-access"`
		}
	}
	w.want(http.StatusOK, "", http.MethodGet, "/openapi.json", "", &doc)
	all := map[string]string{}
	for path, methods := range doc.Paths {
		for method, route := range methods {
			all[strings.ToUpper(method)+" "+path] = route.Access
		}
	}
	return all
}
