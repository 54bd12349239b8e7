// What the scripted model says, run by run. The agents turn it into AG-UI; nothing here is AG-UI.

/** Cuts a string into pieces of n UTF-16 units, so that some cuts fall inside a surrogate pair. */
const cut = (text, n) => text.match(new RegExp(`[^]{1,${n}}`, "g"));

const forecast = [
  [
    { text: ["Let me ", "look up ", "the weather in Kraków", "."] },
    { tool: "weather", id: "toolu_01krakow", args: ['{"ci', 'ty":"Kra', 'ków","uni', 't":"°C"}'] },
    { tool: "weather", id: "toolu_02tokyo", args: ["", '{"city":', '"東京",', '"unit":"°C"}'] },
  ],
  [{ text: ["Kraków 🌦️", " has 17 °C, ", "東京 ", "☀️ 24 °C.\n\n", "Bring \"an umbrella\"", " to Kraków."] }],
];

export const scripts = {
  // Astral characters, combining marks, right-to-left text, line separators, quotes and control characters.
  text: [
    [
      {
        text: [
          "Hello", ", ", "wörld", "! ", "👩‍👩‍👧‍👦 ", ...cut("🦄𝔘𝔫𝔦🇵🇱", 1), " e\u0301 ", "שלום ", "a\u2028b\u2029c ",
          'say "hi" \\ / ', "\ttab\r\nnew line\n", "\u0001\u007f\ufeff ", "</script><!-- ", "data: {}\n\ndata: x", " …done.",
        ],
      },
    ],
  ],
  tools: forecast,
  state: [
    [
      { thinking: ["The user wants ", "a shopping list", " 🛒. ", "I set the state first."] },
      {
        tool: "AGUISendStateSnapshot", id: "toolu_10snapshot",
        args: ['{"snapshot":{"title":"Zażółć","items":[', '{"name":"🥖","count":1}', "],\"done\":false}}"],
      },
    ],
    [
      { text: ["List ", "created. ", "Adding cheese", "."] },
      {
        tool: "AGUISendStateDelta", id: "toolu_11delta",
        args: ['{"delta":[{"op":"add","path":"/items/-",', '"value":{"name":"🧀","count":2}},', '{"op":"replace","path":"/done","value":true}]}'],
      },
    ],
    [{ thinking: ["Both are stored."] }, { text: ["Your list has ", "🥖 and ", "🧀."] }],
  ],
  thinking: [
    [{ thinking: ["Two cities ", "need two ", "calls 🤔."] }, ...forecast[0].slice(1)],
    [{ thinking: ["Now ", "answer."] }, ...forecast[1]],
  ],
  // The model's stream breaks in the middle of a message.
  error: [[{ text: ["I start ", "to answer ", "and th"], open: true }, { fail: "Overloaded 🥵" }]],
  // Hundreds of small deltas: what a transport compacts.
  long: [[{ text: cut("Lorem ipsum dolor 😀 sit amet, consectetur — adipiscing elit. ".repeat(40), 3) }]],
};
