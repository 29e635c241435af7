// How fast this GPU reads its memory: sums a large buffer and prints one JSON line per repetition.
//
//     read-ceiling --bytes N --repetitions R      ->  {"bytes":N,"ns":...}
//
// Only reads, as decoding does, 16 bytes per load and four loads under way per thread; each block adds one number at
// its end, and the total is checked. Timed by events on the GPU, so neither launch nor copy is counted.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status = (call);                                                 \
        if (status != cudaSuccess) {                                                       \
            std::fprintf(stderr, "error: %s: %s\n", #call, cudaGetErrorString(status));    \
            return 1;                                                                      \
        }                                                                                  \
    } while (0)

constexpr int kThreads = 512;
constexpr int kUnroll = 4;

__global__ void fill(uint4 *data, std::size_t n) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < n; i += stride)
        data[i] = make_uint4(1, 2, 3, 4);
}

__device__ unsigned long long add(uint4 v) {
    return static_cast<unsigned long long>(v.x) + v.y + v.z + v.w;
}

__global__ void sum_all(const uint4 *__restrict__ data, std::size_t n, unsigned long long *total) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
    unsigned long long sums[kUnroll] = {};
    for (; i + (kUnroll - 1) * stride < n; i += kUnroll * stride) {
        uint4 values[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) values[u] = __ldg(data + i + u * stride);
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) sums[u] += add(values[u]);
    }
    for (; i < n; i += stride) sums[0] += add(data[i]);
    unsigned long long sum = sums[0] + sums[1] + sums[2] + sums[3];
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    __shared__ unsigned long long warps[kThreads / 32];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned long long all = 0;
        for (unsigned long long value : warps) all += value;
        atomicAdd(total, all);
    }
}

static unsigned long long number(int argc, char **argv, const char *name, unsigned long long otherwise) {
    for (int i = 1; i + 1 < argc; ++i)
        if (!std::strcmp(argv[i], name)) return std::strtoull(argv[i + 1], nullptr, 10);
    return otherwise;
}

int main(int argc, char **argv) {
    const std::size_t n = number(argc, argv, "--bytes", 4ull << 30) / sizeof(uint4);
    const unsigned repetitions = static_cast<unsigned>(number(argc, argv, "--repetitions", 20));
    if (!n || !repetitions) {
        std::fprintf(stderr, "error: --bytes and --repetitions must be above 0\n");
        return 1;
    }
    int device = 0, processors = 0, resident = 0;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, sum_all, kThreads, 0));
    const int blocks = processors * resident;
    uint4 *data = nullptr;
    unsigned long long *total = nullptr;
    CHECK(cudaMalloc(&data, n * sizeof(uint4)));
    CHECK(cudaMalloc(&total, sizeof(*total)));
    CHECK(cudaMemset(total, 0, sizeof(*total)));
    fill<<<blocks, kThreads>>>(data, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (unsigned r = 0; r < repetitions; ++r) {
        CHECK(cudaEventRecord(begin));
        sum_all<<<blocks, kThreads>>>(data, n, total);
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        std::printf("{\"bytes\":%llu,\"ns\":%lld}\n", static_cast<unsigned long long>(n * sizeof(uint4)),
                    static_cast<long long>(ms * 1e6));
    }
    CHECK(cudaGetLastError());
    unsigned long long sum = 0;
    CHECK(cudaMemcpy(&sum, total, sizeof(sum), cudaMemcpyDeviceToHost));
    const bool right = sum == 10ull * n * repetitions;
    std::fprintf(stderr, "blocks %d of %d threads, sum %s\n", blocks, kThreads, right ? "correct" : "WRONG");
    return right ? 0 : 2;
}
