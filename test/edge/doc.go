// Package edge tests what stands between a relay and its clients: nginx as Debian
// ships it, other proxies, browsers of other origins, clients that mean harm, and
// /openapi.json, by which clients are made.
//
//	nginx_test.go      nginx with a configuration of the test's own
//	deployed_test.go   nginx with deploy/nginx/rejoin.conf
//	buffering_test.go  PROXY-01: every event at once, through whatever buffers
//	idle_test.go       PROXY-02: silence is never long enough to be cut
//	cors_test.go       PROXY-03: pages of other origins
//	contract_test.go   requests and answers held against /openapi.json
//	openapi_test.go    the requests
//	target_test.go     a relay under attack, and what must hold afterwards
//	hostile_test.go    ids, bodies, cursors and tokens that mean harm
//	wire_test.go       headers, smuggling, slowness: what is below HTTP's surface
//	injection_test.go  line breaks in every field of an event
//
// What is said about time is said by order: an event is published only once the one
// before has arrived.
package edge
