// Parts of an array summed by your own threads, each with a handle and an accumulator, then merged: the bits are those
// of one thread, whatever the number of parts.
//
//     c++ -std=c++17 -pthread threads.cpp $(pkg-config --cflags --libs warpfold) -o threads && ./threads
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <warpfold.h>

struct Destroy {
    void operator()(wf_handle *handle) const { wf_handle_destroy(handle); }
    void operator()(wf_accumulator *accumulator) const { wf_accumulator_destroy(accumulator); }
};
using Handle = std::unique_ptr<wf_handle, Destroy>;
using Accumulator = std::unique_ptr<wf_accumulator, Destroy>;

static void check(const Handle &handle, wf_error error)
{
    if (error) throw std::runtime_error(handle ? wf_handle_message(handle.get()) : wf_error_text(error));
}

static Handle open_cpu()
{
    wf_handle *handle = nullptr;
    wf_error error = wf_handle_create("cpu", &handle);
    Handle owned(handle);
    check(owned, error);
    return owned;
}

static Accumulator sum_of(const float *data, std::size_t count)
{
    Handle handle = open_cpu();
    wf_handle_set_threads(handle.get(), 1);
    wf_reduction sum = wf_reduction_of(WF_SUM);
    wf_accumulator *accumulator = nullptr;
    check(handle, wf_accumulator_create(handle.get(), &sum, WF_F32, 0, nullptr, &accumulator));
    Accumulator owned(accumulator);
    wf_array part = wf_array_vector(data, WF_F32, static_cast<int64_t>(count));
    check(handle, wf_accumulator_add(handle.get(), accumulator, &part, nullptr, nullptr));
    return owned;
}

static float sum_by(const std::vector<float> &data, std::size_t parts)
{
    std::vector<Accumulator> sums(parts);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < parts; i++)
        threads.emplace_back([&, i] {
            std::size_t begin = data.size() * i / parts, end = data.size() * (i + 1) / parts;
            sums[i] = sum_of(data.data() + begin, end - begin);
        });
    for (std::thread &thread : threads) thread.join();

    Handle handle = open_cpu();
    for (std::size_t i = 1; i < parts; i++) check(handle, wf_accumulator_merge(handle.get(), sums[0].get(), sums[i].get()));
    wf_value value;
    check(handle, wf_accumulator_value(handle.get(), sums[0].get(), WF_SUM, &value));
    return value.v.f32;
}

int main()
{
    std::vector<float> data(100000);
    for (std::size_t i = 0; i < data.size(); i++) data[i] = 1.0f / static_cast<float>(i + 1);
    for (std::size_t parts : {1u, 2u, 7u}) std::printf("%zu parts: %a\n", parts, static_cast<double>(sum_by(data, parts)));
}
