// How fast this computer's threads read memory: sums a large array and prints one JSON line per repetition.
//
//     read-ceiling --bytes N --repetitions R --threads T      ->  {"bytes":N,"ns":...}
//
// Only reads, as decoding does: each thread adds up its own part, which it also wrote first, so that the pages lie
// near it. Eight independent sums let the processor have enough loads under way. The time of a repetition runs from
// the moment all threads start to the moment the last one is done.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

// 8 sums of 8 words: one 512-bit register each where the compiler has them.
constexpr std::size_t kSums = 8, kLanes = 8, kBlock = kSums * kLanes;

std::uint64_t sum(const std::uint64_t *words, std::size_t n) {
    std::uint64_t acc[kSums][kLanes] = {};
    std::size_t i = 0;
    for (; i + kBlock <= n; i += kBlock)
        for (std::size_t s = 0; s < kSums; ++s)
            for (std::size_t l = 0; l < kLanes; ++l) acc[s][l] += words[i + s * kLanes + l];
    std::uint64_t total = 0;
    for (; i < n; ++i) total += words[i];
    for (auto &row : acc)
        for (auto value : row) total += value;
    return total;
}

// All threads wait here for each other by spinning: a sleeping thread would start late.
class Barrier {
  public:
    explicit Barrier(unsigned n) : n_(n) {}
    void wait() {
        const unsigned round = round_.load();
        if (arrived_.fetch_add(1) + 1 == n_) {
            arrived_.store(0);
            round_.fetch_add(1);
        } else {
            while (round_.load() == round) std::this_thread::yield();
        }
    }

  private:
    const unsigned n_;
    std::atomic<unsigned> arrived_{0}, round_{0};
};

std::uint64_t number(int argc, char **argv, const char *name, std::uint64_t otherwise) {
    for (int i = 1; i + 1 < argc; ++i)
        if (!std::strcmp(argv[i], name)) return std::strtoull(argv[i + 1], nullptr, 10);
    return otherwise;
}

}  // namespace

int main(int argc, char **argv) {
    const std::uint64_t bytes = number(argc, argv, "--bytes", 1ull << 30);
    const unsigned repetitions = static_cast<unsigned>(number(argc, argv, "--repetitions", 10));
    const unsigned threads = static_cast<unsigned>(number(argc, argv, "--threads", std::thread::hardware_concurrency()));
    const std::size_t words = bytes / sizeof(std::uint64_t);
    if (!words || !repetitions || !threads) {
        std::fprintf(stderr, "error: --bytes, --repetitions and --threads must be above 0\n");
        return 1;
    }
    // not initialised: the first write to a page decides where it lies, and the reading thread shall make it
    std::unique_ptr<std::uint64_t[]> data(new (std::nothrow) std::uint64_t[words]);
    if (!data) {
        std::fprintf(stderr, "error: out of memory: %llu bytes\n", static_cast<unsigned long long>(bytes));
        return 1;
    }

    using Clock = std::chrono::steady_clock;
    std::vector<std::vector<Clock::time_point>> begin(repetitions), end(repetitions);
    for (unsigned r = 0; r < repetitions; ++r) begin[r].resize(threads), end[r].resize(threads);
    std::vector<std::uint64_t> totals(threads);
    Barrier barrier(threads);
    auto work = [&](unsigned t) {
        const std::size_t from = words / threads * t, to = t + 1 == threads ? words : words / threads * (t + 1);
        for (std::size_t i = from; i < to; ++i) data[i] = i;
        for (unsigned r = 0; r < repetitions; ++r) {
            barrier.wait();
            begin[r][t] = Clock::now();
            totals[t] += sum(data.get() + from, to - from);
            end[r][t] = Clock::now();
        }
    };
    std::vector<std::thread> pool;
    for (unsigned t = 1; t < threads; ++t) pool.emplace_back(work, t);
    work(0);
    for (auto &thread : pool) thread.join();

    std::uint64_t total = 0;
    for (auto value : totals) total += value;
    for (unsigned r = 0; r < repetitions; ++r) {
        auto first = begin[r][0];
        auto last = end[r][0];
        for (unsigned t = 1; t < threads; ++t) {
            if (begin[r][t] < first) first = begin[r][t];
            if (end[r][t] > last) last = end[r][t];
        }
        const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(last - first).count();
        std::printf("{\"bytes\":%llu,\"ns\":%lld}\n", static_cast<unsigned long long>(words * sizeof(std::uint64_t)),
                    static_cast<long long>(ns));
    }
    // printed so that no compiler may leave the sums out; the value proves that every word was read each time
    const std::uint64_t expected = (words % 2 ? (words - 1) / 2 * words : words / 2 * (words - 1)) * repetitions;
    std::fprintf(stderr, "threads %u, sum %s\n", threads, total == expected ? "correct" : "WRONG");
    return total == expected ? 0 : 2;
}
