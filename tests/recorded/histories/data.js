window.BENCHMARK_DATA = {
  "lastUpdate": 1724442838900,
  "repoUrl": "https://github.com/benchmark-action/github-action-benchmark",
  "entries": {
    "Rust Benchmark": [
      {
        "commit": {
          "author": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "committer": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000000",
          "message": "change",
          "timestamp": "2019-11-10T00:00:59+09:00",
          "tree_id": "0000000000000000000000000000000000000000",
          "url": "https://github.com/benchmark-action/github-action-benchmark/commit/0000000000000000000000000000000000000000"
        },
        "date": 1573312140017,
        "tool": "cargo",
        "benches": [
          {
            "name": "bench_fib_10",
            "range": "± 24",
            "unit": "ns/iter",
            "value": 254.0
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "committer": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "distinct": true,
          "id": "0000001000000000000000000000000000000000",
          "message": "change",
          "timestamp": "2019-11-10T00:01:59+09:00",
          "tree_id": "0000000000000000000000000000000000000000",
          "url": "https://github.com/benchmark-action/github-action-benchmark/commit/0000001000000000000000000000000000000000"
        },
        "date": 1573312301017,
        "tool": "cargo",
        "benches": [
          {
            "name": "bench_fib_10",
            "range": "± 24",
            "unit": "ns/iter",
            "value": 242.0
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "committer": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "distinct": true,
          "id": "0000002000000000000000000000000000000000",
          "message": "change",
          "timestamp": "2019-11-10T00:02:59+09:00",
          "tree_id": "0000000000000000000000000000000000000000",
          "url": "https://github.com/benchmark-action/github-action-benchmark/commit/0000002000000000000000000000000000000000"
        },
        "date": 1573314194017,
        "tool": "cargo",
        "benches": [
          {
            "name": "bench_fib_10",
            "range": "± 24",
            "unit": "ns/iter",
            "value": 224.0
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "committer": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "distinct": true,
          "id": "0000003000000000000000000000000000000000",
          "message": "change",
          "timestamp": "2019-11-10T00:03:59+09:00",
          "tree_id": "0000000000000000000000000000000000000000",
          "url": "https://github.com/benchmark-action/github-action-benchmark/commit/0000003000000000000000000000000000000000"
        },
        "date": 1573314850017,
        "tool": "cargo",
        "benches": [
          {
            "name": "bench_fib_10",
            "range": "± 24",
            "unit": "ns/iter",
            "value": 279.0
          }
        ]
      }
    ],
    "Python Benchmark": [
      {
        "commit": {
          "author": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "committer": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "distinct": true,
          "id": "0000005000000000000000000000000000000000",
          "message": "change",
          "timestamp": "2020-03-01T10:00:00Z",
          "tree_id": "0000000000000000000000000000000000000000",
          "url": "https://github.com/benchmark-action/github-action-benchmark/commit/0000005000000000000000000000000000000000"
        },
        "date": 1583058000123,
        "tool": "pytest",
        "benches": [
          {
            "name": "bench.py::test_fib_10",
            "value": 41513.272817492856,
            "unit": "iter/sec",
            "range": "stddev: 6.347862996017579e-7",
            "extra": "mean: 24.08868133322941 usec\nrounds: 38523"
          },
          {
            "name": "bench.py::test_fib_20",
            "value": 332.38,
            "unit": "iter/sec",
            "range": "stddev: 0",
            "extra": "mean: 3.0 msec\nrounds: 1"
          }
        ]
      }
    ],
    "Go Benchmark": [
      {
        "commit": {
          "author": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "committer": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "distinct": true,
          "id": "0000006000000000000000000000000000000000",
          "message": "change",
          "timestamp": "2020-03-02T10:00:00Z",
          "tree_id": "0000000000000000000000000000000000000000",
          "url": "https://github.com/benchmark-action/github-action-benchmark/commit/0000006000000000000000000000000000000000"
        },
        "date": 1583144400000,
        "tool": "go",
        "benches": [
          {
            "name": "BenchmarkFib10",
            "value": 325,
            "unit": "ns/op\t      16 B/op\t       1 allocs/op",
            "extra": "5000000 times\n2 procs"
          },
          {
            "name": "BenchmarkFib10 - B/op",
            "value": 16,
            "unit": "B/op",
            "extra": "5000000 times\n2 procs"
          }
        ]
      }
    ],
    "JS Benchmark": [
      {
        "commit": {
          "author": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "committer": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "distinct": true,
          "id": "0000007000000000000000000000000000000000",
          "message": "change",
          "timestamp": "2020-03-03T10:00:00Z",
          "tree_id": "0000000000000000000000000000000000000000",
          "url": "https://github.com/benchmark-action/github-action-benchmark/commit/0000007000000000000000000000000000000000"
        },
        "date": 1583230800000,
        "tool": "benchmarkjs",
        "benches": [
          {
            "name": "fib(10)",
            "value": 1431759,
            "range": "±0.74%",
            "unit": "ops/sec",
            "extra": "93 samples"
          }
        ]
      }
    ],
    "Custom": [
      {
        "commit": {
          "author": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "committer": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "distinct": true,
          "id": "0000008000000000000000000000000000000000",
          "message": "change",
          "timestamp": "2023-07-30T13:52:50+05:30",
          "tree_id": "0000000000000000000000000000000000000000",
          "url": "https://github.com/benchmark-action/github-action-benchmark/commit/0000008000000000000000000000000000000000"
        },
        "date": 1690705390969,
        "tool": "customBiggerIsBetter",
        "benches": [
          {
            "name": "Frames, \"smooth\"",
            "value": "59.5",
            "unit": "fps"
          },
          {
            "name": "Coverage",
            "value": 88,
            "unit": "Percent",
            "range": "3",
            "extra": "anything"
          },
          {
            "name": "Broken",
            "value": null,
            "unit": "x"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "committer": {
            "email": "dev@example.org",
            "name": "Dev",
            "username": "dev"
          },
          "distinct": true,
          "id": "0000009000000000000000000000000000000000",
          "message": "change",
          "timestamp": "2024-08-23T19:12:55Z",
          "tree_id": "0000000000000000000000000000000000000000",
          "url": "https://github.com/benchmark-action/github-action-benchmark/pull/1/commits/0000009000000000000000000000000000000000"
        },
        "date": 1724442838818,
        "tool": "customSmallerIsBetter",
        "benches": [
          {
            "name": "Memory",
            "value": 100,
            "unit": "Megabytes"
          }
        ]
      }
    ]
  }
}