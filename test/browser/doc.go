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
//	issuer_test.go    tokens
//	bundle_test.go    the page of fixture/, which has the browser client and nothing else
//	native_test.go    EventSource, and that what is watched for is seen; cors_test.go: pages of another origin
//	cuts_test.go      the network and the relays go and come back; hidden_test.go: tabs that nobody looks at
//	eight_test.go     more tabs than connections; once_test.go: nothing is done twice; auth_test.go: tokens expire
//	proxied_test.go   through nginx, and byte by byte
//	demo_test.go      the demo's page, with an agent that the script speaks for; dev_test.go: all of it as it is shipped
//	lib/              what the scripts share; lib/watch.js watches a page for what is shown twice
//
// Two scenarios run at once, each with a Chromium and a fabric of its own, and those that measure run alone. A script's requests are answered one
// at a time by its test's own goroutine, so that an action may wait, and then keeps the script's next one waiting. VERBOSE=1 shows what the parts log and what pages say.
//
// What people would see at the key moments is kept as pictures under shots/, or where REJOIN_SHOTS says.
//
// Cases that were met in the field are tests named after their ids.
package browser
