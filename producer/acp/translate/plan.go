package translate

import "github.com/rejoin/rejoin/internal/agui"

// plan takes a plan, which is whole each time.
func (t *Translator) plan(u *record) error {
	if e := u.values["entries"]; len(e) == 0 || e[0] != '[' {
		return malformed("plan", `its "entries" have to be an array`)
	}
	t.send(newEvent(agui.ActivitySnapshot).str("messageId", t.id("plan", 0)).str("activityType", "acp.plan").
		raw("content", u.without("sessionUpdate").json()).raw("replace", []byte("true")))
	return nil
}

// custom passes an update on that AG-UI has no form for.
func (t *Translator) custom(kind string, line []byte) {
	t.send(newEvent(agui.Custom).str("name", "acp."+safeKind(kind)).raw("value", line))
}

// safeKind is a kind that may be part of a name. A point would let an agent write
// questions and answers of its own: their names end in .request and .resolved.
func safeKind(kind string) string {
	if len(kind) > 64 {
		return "update"
	}
	for _, c := range kind {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '/' {
			return "update"
		}
	}
	return kind
}
