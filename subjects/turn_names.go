package subjects

import "strings"

// The streams around turns.
const (
	TurnsStream   = "TURNS"
	ControlStream = "CONTROL"
	HistoryStream = "HISTORY"

	// Workers is the one consumer of the work queue; all workers share it.
	Workers = "workers"

	turnPrefix        = "rejoin.turn."
	controlPrefix     = "rejoin.control."
	controlLivePrefix = "rejoin.controls."
	historyPrefix     = "rejoin.history."
)

// TurnSubject is where a turn waits for a worker. The error is Token's.
func TurnSubject(kind string, id RunID) (string, error) {
	k, err := Token(kind)
	if err != nil {
		return "", err
	}
	return turnPrefix + k + "." + string(id), nil
}

// TurnKey is the key of what a run's turn asks.
func TurnKey(id RunID) string { return "turn." + string(id) }

// TurnPartsSubject matches the further parts of a turn that is larger than one message.
func TurnPartsSubject(id RunID) string { return KeySubject(TurnKey(id) + ".*") }

// TurnKeysSubject matches what all runs' turns ask, and the further parts of it.
const TurnKeysSubject = bucketPrefix + "turn.>"

// RunOfTurnKeySubject gives the run whose turn, or a part of it, a subject names; the
// error wraps ErrRunID.
func RunOfTurnKeySubject(subject string) (RunID, error) {
	rest, ok := strings.CutPrefix(subject, bucketPrefix+"turn.")
	if !ok {
		return "", ErrRunID
	}
	id, _, _ := strings.Cut(rest, ".")
	return ParseRunID(id)
}

// MemoryKey is the key of what an agent keeps of a chat between its turns. The error is
// Token's.
func MemoryKey(realm Realm, chat string) (string, error) {
	key, err := PointerKey(realm, chat)
	if err != nil {
		return "", err
	}
	return "memory." + strings.TrimPrefix(key, "chat."), nil
}

// ControlSubject is where a control of a run is kept. key is one or more tokens.
func ControlSubject(id RunID, key string) string { return controlPrefix + string(id) + "." + key }

// ControlsSubject matches all controls of a run.
func ControlsSubject(id RunID) string { return controlPrefix + string(id) + ".>" }

// LiveControlSubject is where the broker republishes a control once it is stored.
func LiveControlSubject(id RunID, key string) string {
	return controlLivePrefix + string(id) + "." + key
}

// LiveControlsSubject matches the stored controls of a run as they come.
func LiveControlsSubject(id RunID) string { return controlLivePrefix + string(id) + ".>" }

// ControlKeyOf is what follows the run's id in the subject of a control, live or not.
func ControlKeyOf(id RunID, subject string) string {
	_, key, _ := strings.Cut(subject, "."+string(id)+".")
	return key
}

// RunOfControlSubject gives the run whose control a subject names; the error wraps ErrRunID.
func RunOfControlSubject(subject string) (RunID, error) {
	rest, ok := strings.CutPrefix(subject, controlPrefix)
	id, _, dot := strings.Cut(rest, ".")
	if !ok || !dot {
		return "", ErrRunID
	}
	return ParseRunID(id)
}

// HistorySubject is where a chat's saved turns are kept. The error is Token's.
func HistorySubject(realm Realm, chat string) (string, error) {
	key, err := PointerKey(realm, chat)
	if err != nil {
		return "", err
	}
	return historyPrefix + strings.TrimPrefix(key, "chat."), nil
}
