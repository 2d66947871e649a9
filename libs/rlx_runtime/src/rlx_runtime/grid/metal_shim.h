// What Metal's kernels need of its library, in C++ for a CPU: each thread of a block is a thread of the process.
// For tests alone: it shows that the generated source is C++ with the right arithmetic, not how fast Metal runs it.
#pragma once
#include <barrier>
#include <cmath>
#include <climits>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;

#define kernel extern "C"
#define device
#define threadgroup static
namespace metal {
using std::isnan;
enum class mem_flags { mem_threadgroup };
inline thread_local std::barrier<> *meeting = nullptr;
inline void threadgroup_barrier(mem_flags) { meeting->arrive_and_wait(); }
template <class To, class From> To as_type(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To result;
    std::memcpy(&result, &value, sizeof(To));
    return result;
}
namespace precise {
inline float sqrt(float x) { return std::sqrt(x); }
inline float fabs(float x) { return std::fabs(x); }
inline float floor(float x) { return std::floor(x); }
inline float ceil(float x) { return std::ceil(x); }
inline float rint(float x) { return std::rint(x); }
}  // namespace precise
template <class Body> void run_grid(uint blocks, uint threads, Body body) {
    for (uint block = 0; block < blocks; block++) {
        std::barrier<> together(threads);
        std::vector<std::thread> team;
        for (uint thread = 0; thread < threads; thread++)
            team.emplace_back([&, thread] {
                meeting = &together;
                body(block, thread);
                together.arrive_and_drop();
            });
        for (auto &member : team) member.join();
    }
}
}  // namespace metal
