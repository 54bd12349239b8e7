// Package chaos holds the tests that try to break turns: random operations while
// connections are cut and the broker restarts, judged when all is quiet; and attacks at
// one place each, with the connection cut or the broker restarted exactly there.
//
//	model_test.go   the random test, and what is done to connections and the broker
//	client_test.go  what clients do at random
//	agent_test.go   an agent that behaves as the message says
//	judge_test.go   what has to hold once everything is at rest
//	kept_test.go    what has to be left then, in the history and in the broker
//	log_test.go     what has to hold of every log
//	points_test.go  trouble at one step of a turn's way
//	cut_test.go     a worker whose connection goes and comes
//	lease_test.go   a worker that is taken for dead
//	cluster_test.go three servers whose leaders step down
//	steer_test.go   messages for a run that answers
//	flood_test.go   too much of something
//	hostile_test.go ids that are chosen to do harm
package chaos
