// Every fault that can be planted: (name, the rule that it breaks, the test binary, the tests that must fail).
// The one list: the switch (tests/faults/switch.cpp), CMake and the tests of tests/faults read it; see docs/faults.md.
#pragma once

// clang-format off
#define TENON_FAULT_LIST(FAULT) \
    FAULT(product_splits_k, "Products: nobody splits k. With two threads or more, two partial sums are added", \
          "cpu", "Gemm.ThreadsChangeNoBit") \
    FAULT(product_rounds_each_step, "Products: a 16-bit result rounds once. Its chain is rounded after each step of k", \
          "cpu", "Gemm.AChainIsFinishedOnceAfterAllStepsOfK") \
    FAULT(product_adds_each_step, "Products: add takes the finished chain. Each step of k is added to C", \
          "cpu", "Gemm.AChainIsFinishedOnceAfterAllStepsOfK") \
    FAULT(bias_before_the_end, "Products: an epilogue acts on the finished chain. The bias comes after the first step of k", \
          "cpu", "Gemm.AChainIsFinishedOnceAfterAllStepsOfK") \
    FAULT(bias_after_rounding, "Products: a bias comes before the rounding to 16 bits. It comes after it", \
          "cpu", "Matmul.LinearIsTheProductThenTheBias") \
    FAULT(sum_lanes_by_width, "Sums: sixteen lanes on every set. Rows are summed in the eight lanes of an AVX2 register", \
          "cpu", "Reductions.SumAddsInTheDocumentedOrder") \
    FAULT(sum_in_memory_order, "Sums: the order is the logical index. Strided elements are added as they lie in memory", \
          "cpu", "Reductions.EverySetThreadCountAndLayoutGivesTheReferencesBits") \
    FAULT(sum_blocks_in_line, "Sums: blocks meet as a binary counter does. They are added one after the other", \
          "cpu", "Reductions.SumAddsInTheDocumentedOrder") \
    FAULT(mean_by_reciprocal, "Sums: a mean is the sum over n. It is the sum times 1/n", \
          "cpu", "Reductions.EverySetThreadCountAndLayoutGivesTheReferencesBits") \
    FAULT(extremes_skip_nan, "max, min: NaN if any is. A comparison passes it over", \
          "cpu", "Reductions.ZerosAndNaNsOfExtremesAreStated") \
    FAULT(extremes_keep_first_zero, "max, min: +0 is above -0. The first of two zeros stays", \
          "cpu", "Reductions.ZerosAndNaNsOfExtremesAreStated") \
    FAULT(scatter_descends, "Scatter sums: ascending source order. The rows of an index are added last first", \
          "cpu", "Indexing.EmbeddingBackwardAddsInAscendingOrderOnAnyThreadCount") \
    FAULT(exp_by_another_formula, "Functions: one polynomial on every set. On AVX2 softmax takes exp(x) as exp(x/2) squared", \
          "cpu", "Softmax.EverySetThreadCountAndLayoutGivesTheReferencesBits") \
    FAULT(softmax_divides, "Formulas: softmax multiplies by 1/sum. It divides by the sum", \
          "cpu", "Softmax.EverySetThreadCountAndLayoutGivesTheReferencesBits") \
    FAULT(norm_root_of_reciprocal, "Formulas: a norm takes 1/sqrt(x). It takes sqrt(1/x)", \
          "cpu", "Norms.EverySetThreadCountAndLayoutGivesTheReferencesBits") \
    FAULT(norm_weight_first, "Formulas: rms_norm is (x r) w. It is x (r w)", \
          "cpu", "Norms.EverySetThreadCountAndLayoutGivesTheReferencesBits") \
    FAULT(variance_in_one_pass, "Formulas: variance takes two passes. It is the mean of squares less the square of the mean", \
          "cpu", "Norms.EverySetThreadCountAndLayoutGivesTheReferencesBits") \
    FAULT(rope_contracted, "Formulas: rope rounds both products. One of them is within an fma", \
          "cpu", "Rotary.EverySetThreadCountAndLayoutGivesTheReferencesBits") \
    FAULT(update_contracted, "Rounding: fma only in products, attention and functions. AdamW's first moment is an fma", \
          "cpu", "Optimizer.AdamWHasTheReferencesBitsOnEverySetAndThreadCount") \
    FAULT(adamw_scalars_in_f32, "AdamW: scalars in f64, rounded once. 1 - beta2 is taken in f32", \
          "cpu", "Optimizer.AdamWsScalarsAreMadeInF64AndRoundOnce") \
    FAULT(adamw_root_of_quotient, "AdamW: it takes sqrt(v) / sqrt(c2). It takes sqrt(v / c2)", \
          "cpu", "Optimizer.AdamWHasTheReferencesBitsOnEverySetAndThreadCount") \
    FAULT(bf16_truncates, "Formats: f32 to bf16 rounds to nearest even. The low half is cut off", \
          "cpu", "Elementwise.CastsRoundToNearestEvenAndCutTowardZero") \
    FAULT(bf16_converted_by_cut, "Formats: the same rounding outside the tiles' casts. There the low half is cut off", \
          "cpu", "LinearCrossEntropy.SixteenBitGradientsRoundOnce") \
    FAULT(f16_truncates, "Formats: f32 to f16 rounds to nearest even. It rounds toward 0", \
          "cpu", "Elementwise.CastsRoundToNearestEvenAndCutTowardZero") \
    FAULT(rope_through_libm, "Functions: nothing of libm's reaches an f32 number. The tables' cosines are libm's", \
          "cpu", "Rotary.TablesHaveTheHostFunctionsBitsAtAnyPosition") \
    FAULT(float_environment_left, "Environment: flush to zero is corrected for each call. It is counted and left on", \
          "cpu", "FloatEnvironmentTest.*") \
    FAULT(attention_running_maximum, "Attention: each chunk from nothing. A chunk's maximum starts from the last one's", \
          "cpu", "Attention.TilesHaveTheBitsOfThePlainLoops") \
    FAULT(attention_length_in_line, "Attention: l is summed in lanes by position mod 16. It is summed in line", \
          "cpu", "Attention.TilesHaveTheBitsOfThePlainLoops") \
    FAULT(attention_fold_keeps_maximum, "Attention: a fold's maximum is the greater one. It stays the first chunk's", \
          "cpu", "Attention.TilesHaveTheBitsOfThePlainLoops") \
    FAULT(attention_fold_rounds, "Attention: a fold takes l by fma. The product rounds on its own", \
          "cpu", "Attention.TilesHaveTheBitsOfThePlainLoops") \
    FAULT(attention_fold_rounds_values, "Attention: a fold takes a by fma. The product rounds on its own", \
          "cpu", "Attention.TilesHaveTheBitsOfThePlainLoops") \
    FAULT(attention_divides, "Attention: out is a times 1/l. It is a over l", \
          "cpu", "Attention.TilesHaveTheBitsOfThePlainLoops") \
    FAULT(attention_chunks_by_rows, "Attention: chunks of 128 keys. Few queries, as in decoding, take chunks of 64", \
          "cpu", "KvCache.PrefillChunksAndSingleTokensAreTheWholeSequence") \
    FAULT(attention_chunks_by_memory, "Attention: chunks go by position in the document. They go by place in the batch's row", \
          "cpu", "Attention.LeftPaddingAndPackingChangeNoBit") \
    FAULT(attention_multiplies_masked, "Attention: a masked key is never multiplied. Its weight is 0 and it is", \
          "cpu", "Attention.AMaskedKeyIsNeverMultiplied") \
    FAULT(attention_drops_before_sum, "Attention: dropout acts on p after l. l is the sum of what is left", \
          "cpu", "Attention.AWeightThatIsDroppedIsGoneAndTheRestGrows") \
    FAULT(attention_dropout_by_document, "Attention: dropout's index counts keys of the row. It counts them from the document's first", \
          "cpu", "Attention.DocumentsHaveTheBitsOfThePlainLoops") \
    FAULT(attention_delta_contracted, "Attention: D is a Sum of rounded products. It is a Sum by fma", \
          "cpu", "Attention.TilesHaveTheBitsOfThePlainLoops") \
    FAULT(dq_keys_descend, "Attention: dq is a chain over ascending keys. Blocks of keys come last first", \
          "cpu", "Attention.TilesHaveTheBitsOfThePlainLoops") \
    FAULT(dk_dv_heads_descend, "Attention: dk and dv go over the group's query heads in order. The last comes first", \
          "cpu", "Attention.TilesHaveTheBitsOfThePlainLoops") \
    FAULT(dk_dv_queries_descend, "Attention: dk and dv go over ascending queries. Blocks of queries come last first", \
          "cpu", "Attention.TilesHaveTheBitsOfThePlainLoops") \
    FAULT(loss_adds_chunks, "linear_cross_entropy: dw is one chain over all rows. Each chunk's sum is added", \
          "cpu", "LinearCrossEntropy.ChunksHaveTheBitsOfThePlainLoops") \
    FAULT(loss_divides, "linear_cross_entropy: g is multiplied by f32(1/divisor). It is divided", \
          "cpu", "LinearCrossEntropy.ChunksHaveTheBitsOfThePlainLoops") \
    FAULT(loss_multiplies_ignored, "linear_cross_entropy: g is +0 in ignored rows. It is their logits times 0", \
          "cpu", "LinearCrossEntropy.ARowThatIsIgnoredHasNoPartInAnything") \
    FAULT(digest_skips_word, "Digests: every word counts. The first of each part does not", \
          "cpu", "Digest.SumsAreTheDefinitionsInPython") \
    FAULT(digest_of_raw_nan, "Digests: NaN is canonical. Its payload counts", \
          "cpu", "Digest.NaNsCountAsOneAndZerosDiffer") \
    FAULT(digest_after_clipping, "Digests: gradients count before clipping. They count after it", \
          "train", "Trainer.TheGradientsDigestIsOfGradientsBeforeClipping") \
    FAULT(tied_counts_twice, "Digests: a tied parameter counts once, under its first name. It counts under each", \
          "nn", "Module.*") \
    FAULT(record_0_is_empty, "Digests: record 0 holds the initial parameters. It holds none", \
          "cli", "Training.test_record_0_is_the_start") \
    FAULT(dropout_unkeyed, "Randomness: inside a pass a draw is keyed. It takes the process's next ordinal", \
          "cpu", "RandomOps.InsideAPassDrawsRepeatOutsideTheyAdvance") \
    FAULT(draw_ignores_leaf, "Randomness: the leaf is part of a draw's counter. Every leaf draws the same", \
          "core", "Passes.*") \
    FAULT(draw_ignores_step, "Randomness: the step is part of a draw's counter. Every step draws the same", \
          "core", "Passes.*") \
    FAULT(start_by_ordinal, "Randomness: a parameter starts from its full name. It starts from its turn", \
          "nn", "Initializer.*") \
    FAULT(uniform_rounds, "Randomness: uniform takes a word's top 24 bits. It rounds its top 31", \
          "cpu", "RandomOps.AnElementDependsOnItsIndexAlone") \
    FAULT(normal_takes_log_of_zero, "Randomness: normal takes u in (0, 1]. It takes it in [0, 1)", \
          "cpu", "RandomOps.EveryInstructionSetGivesTheReferencesBits") \
    FAULT(randint_by_modulo, "Randomness: randint is the high half of word times n. It is the word modulo n", \
          "cpu", "RandomOps.IntegersFollowTheFormulaAndStayInRange") \
    FAULT(dropout_threshold_cut, "Randomness: dropout's threshold is p 2^32 rounded. It is cut off", \
          "core", "Streams.DropoutThresholdIsRounded") \
    FAULT(dropout_drops_the_threshold, "Randomness: a word at the threshold is kept. It is dropped", \
          "cpu", "RandomOps.AWordAtTheThresholdIsKept") \
    FAULT(dropout_in_memory_order, "Randomness: an index counts elements in logical order. It counts them as they lie in memory", \
          "cpu", "RandomOps.DropoutCountsElementsInLogicalOrder") \
    FAULT(sampling_by_turn, "Randomness: sampling is keyed by seed and position. It takes the process's next ordinal", \
          "serve", "Sampling.TheSeedAndThePositionDecideAlone") \
    FAULT(node_replayed, "Autograd: a node's gradient counts once. A leaf's comes twice", \
          "autograd", "FixedOrder.*") \
    FAULT(nodes_earliest_first, "Autograd: the latest node is visited first. The earliest that was reached is", \
          "autograd", "FixedOrder.*") \
    FAULT(norm_by_registration, "Clipping: squares meet in order of names. They meet in order of registration", \
          "optim", "Clip.*") \
    FAULT(norm_chain_in_f32, "Clipping: the norm's chain is in f64. It is in f32", \
          "optim", "Clip.*") \
    FAULT(clip_without_epsilon, "Clipping: the factor is max / (norm + 1e-6). It is max / norm", \
          "optim", "Clip.*") \
    FAULT(decay_everywhere, "AdamW: norms and biases do not decay. They do", \
          "optim", "AdamW.*") \
    FAULT(schedule_in_f32, "Schedules: a rate is an f64. Its last product rounds to f32", \
          "optim", "Schedule.*") \
    FAULT(schedule_through_libm, "Schedules: the cosine is ours. It is libm's", \
          "optim", "Schedule.*") \
    FAULT(order_by_prefetch, "Data: sample i is a function of seed and i. It depends on how far a worker reads ahead", \
          "data", "Loader.GivesWhatDirectReadsGiveAtAnyPrefetchAndSeek") \
    FAULT(place_forgotten, "Data: a loader continues at its place. After a seek it starts over", \
          "data", "Loader.ResumesFromItsPlaceAlone") \
    FAULT(leaves_by_arrival, "Leaves: a fixed tree over the leaf index. Leaves take their places as they arrive", \
          "train", "LeafTree.AnyOrderOfArrivalGivesTheFixedTree") \
    FAULT(leaf_divides_by_its_own, "Leaves: the divisor is the global batch's valid tokens. It is the leaf's", \
          "train", "Trainer.EveryLeafDividesByTheGlobalBatchsValidTokens") \
    FAULT(leaves_above_512, "Leaves: by default a leaf has at least 512 tokens. It has more", \
          "train", "DefaultLeaves.*") \
    FAULT(tier_ignored, "Tiers: a provider below the run's tier is passed over. It runs", \
          "ops", "Dispatch.AProviderBelowTheTierIsPassedOver") \
    FAULT(moments_lost, "Resume: the optimizer's state comes back. Its moments start from 0", \
          "cli", "Resumption.test_what_the_last_checkpoints_lack_is_computed_again") \
    FAULT(moments_not_saved, "Checkpoints: the optimizer's state is saved. Zeros are", \
          "cli", "Resumption.test_what_the_last_checkpoints_lack_is_computed_again") \
    FAULT(digests_not_cut, "Resume: digests.bin is cut back to the checkpoint. What came after it stays", \
          "cli", "Resumption.test_what_the_last_checkpoints_lack_is_computed_again") \
    FAULT(events_not_cut, "Resume: events.jsonl is cut back to the checkpoint. What came after it stays", \
          "cli", "Resumption.test_what_the_last_checkpoints_lack_is_computed_again") \
    FAULT(commit_left_out, "Checkpoints: COMMIT says that all is written. It is not written", \
          "cli", "Resumption.test_what_the_last_checkpoints_lack_is_computed_again") \
    FAULT(commit_comes_first, "Checkpoints: COMMIT is written last. It comes before the manifest", \
          "io", "Checkpoint.WhereverItsWritingStopsThereIsAWholeOneOrNone") \
    FAULT(checkpoint_unchecked, "Checkpoints: every tensor has its SHA-256. A flipped byte is not seen", \
          "cli", "Resumption.test_a_damaged_checkpoint_is_left_for_the_one_before")
// clang-format on
