package relay

func (m *Metrics) limited() {
	m.connections = m.gauge("rejoin_connections", "Open connections.")
	m.turnedAway = m.vector("rejoin_connections_refused_total",
		"Connections that were one too many: turned away, or answered only where that could not wait.", "why", []string{"full", "scarce"})
	m.sendsRefused = m.vector("rejoin_sends_refused_total", "Messages that were refused for a limit, by whose.", "why",
		[]string{"owner", "relay", "room"})
	m.held = m.gauge("rejoin_replay_held_bytes", "Bytes of logs and snapshots that are held for observers who catch up.")
	m.holdWaiting = m.gauge("rejoin_replay_waiting", "Observers and builds that wait for such bytes.")
}
