"""Every event of every CPU model is a number with a class, or refused with exactly the words "not modelled"."""
import json
import subprocess
import unittest

import tool

#: They count nothing.
SAMPLE_ONLY = ("intel_bts//", "ibs_op//", "ibs_fetch//")
MODELS = tool.CORES + ["core2", "goldmont", "ivybridge", "nehalem", "skylake-client"]


class EveryEvent(unittest.TestCase):
    def events_of(self, model):
        listed = json.loads(tool.zeroskid("list", "--json", "--cpu", model).stdout)["events"]
        self.assertGreater(len(listed), 40)
        return listed

    def test_counts_it_with_its_class(self):
        for model in MODELS:
            listed = {event["name"]: event["class"] for event in self.events_of(model)}
            wanted = [name for name, kind in listed.items() if kind in ("exact", "modelled") and name not in SAMPLE_ONLY]
            # One threshold register: events of load latency one by one.
            latency = [name for name in wanted if "latency" in name or name == "mem-loads"]
            together = [name for name in wanted if name not in latency]
            found = {}
            for events in [together, *([name] for name in latency)]:
                found.update(tool.counts(events, tool.guest("known_loop"), "--cpu", model))
            self.assertEqual({name: kind for name, (_, kind) in found.items()},
                             {name: listed[name] for name in wanted}, model)
            modelled = [name for name in wanted if listed[name] == "modelled"]
            self.assertEqual(bool(modelled), model in tool.CORES, model)

    def test_refuses_what_it_cannot_count_with_these_words(self):
        for model in MODELS:
            names = [event["name"] for event in self.events_of(model) if event["class"] == "not modelled"]
            self.assertTrue(names, model)
            running = [(name, subprocess.Popen([tool.ZEROSKID, "stat", "--cpu", model, "-e", name, "true"],
                                               stderr=subprocess.PIPE, text=True, env=tool.ENVIRONMENT))
                       for name in names[::1 if model == "skylake-server" else 7]]
            for name, process in running:
                error = process.communicate()[1]
                self.assertEqual(process.returncode, 129, f"{model} {name}: {error}")
                self.assertIn("not modelled: ", error, f"{model} {name}")

    def test_says_how_far_off_every_modelled_number_is(self):
        for model in tool.CORES:
            for event in self.events_of(model):
                self.assertEqual("error" in event, event["class"] == "modelled", event)


if __name__ == "__main__":
    tool.main()
