// Package browser holds what is true in a real Chromium: of the browser client, of the demo page, and of an EventSource
// that knows nothing of Rejoin.
//
// The package has tests only. Each boots a fabric and lets one script of scenarios/ drive Chromium with playwright-core; the
// script asserts, and asks the test for what happens outside of the browser: a relay dies, the network is cut, an agent
// says something. They fail when Chromium, Node or the packages of package.json are missing (make setup brings them), and when a page has
// an error or a warning in its console, an uncaught exception or a failed request that the script did not announce.
//
//	scenario_test.go  one script: its process, and the requests that it makes of its test
//	chromium_test.go  what has to be installed, and how many Chromiums there may be at once
//	site_test.go      what the browser connects to: an HTTP/1.1 front before the relays, which counts, fails and is cut
//	rig_test.go       a broker, two relays behind a site, and a worker
//	agent_test.go     an agent that says what the script tells it to
//	bundle_test.go    the page of fixture/, which has the browser client and nothing else
//	lib/              what the scripts share; lib/watch.js watches a page for what is shown twice
//
// What people would see at the key moments is kept as pictures under shots/, or where REJOIN_SHOTS says.
//
// Cases that were met in the field are tests named after their ids.
package browser
