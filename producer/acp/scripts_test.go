package acp_test

// scripts are the agents of the tests, by name. Each test's are beside it.
var scripts = map[string]func(*scripted){}

func init() {
	for _, more := range []map[string]func(*scripted){basicScripts, updateScripts, deathScripts, askScripts, dirtyScripts, fileScripts} {
		for name, s := range more {
			scripts[name] = s
		}
	}
}
