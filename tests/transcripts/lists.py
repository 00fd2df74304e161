import json
d = {f"k{i}": list(range(i % 50)) for i in range(3000)}
print(len(json.dumps(d)), sum(len(v) for v in json.loads(json.dumps(d)).values()))
