"""Experiments that the page is shown with."""

MIXED = """
name: town sizes
deadline: 10m
containers: {min: 1, max: 3}
estimate: 300ms
on_failure: {action: cancel}
sweep:
  parameters:
    town: [small, large]
    seed: {from: 1, to: 10, step: 1}
  job:
    id: "{{town}}-{{seed}}"
    command:
      - sh
      - -c
      - |
        echo "town {{town}}, seed {{seed}}"; sleep 0.2
        [ {{seed}} != 7 ] || { echo "ValueError: <b>nobody</b> lives in {{town}}" >&2; exit 3; }
        echo "{{seed}}" > size.csv
    outputs: [size.csv]
"""
"""20 jobs, two of which fail with a word on stderr that looks like markup."""

LONG = """
name: long night
deadline: 2h
containers: {min: 1, max: 2}
estimate: 10m
jobs:
  - {id: first, command: [sh, -c, "echo begun; sleep 600"]}
  - {id: second, command: [sleep, "600"]}
  - {id: third, command: [sleep, "600"]}
"""
"""Does not end before it is cancelled."""

TALKATIVE = """
name: talkative
jobs:
  - {id: talker, command: [sh, -c, "i=0; while true; do echo line $((i=i+1)); sleep 0.2; done"]}
"""
"""Prints for ever."""

STEADY = """
name: epidemic
deadline: 4m
containers: {min: 1, max: 4}
estimate: 1s
on_failure: {action: cancel}
policy: {name: deadline-forecast, margin: 20s}
sweep:
  parameters:
    vaccinated: [0.0, 0.2, 0.4]
    seed: {from: 1, to: 80, step: 1}
  job:
    id: "v{{vaccinated}}-s{{seed}}"
    command:
      - python3
      - -c
      - |
        import random, sys, time
        random.seed({{index}})
        print("town of 14,000 people, vaccinated {{vaccinated}}, seed {{seed}}", flush=True)
        time.sleep(random.lognormvariate(0, 0.45))
        if {{index}} % 19 == 5:
            sys.exit("ValueError: nobody is ill in this town, so there is no epidemic to follow")
        open("result.json", "w").write("{}")
    outputs: [result.json]
"""
"""Runs long enough to be looked at, with durations that differ and a few failures."""
