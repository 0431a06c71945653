-- The formulas of 95 % intervals with the pair as the only cluster (method, section 4). estimate_shares.sql
-- adds the clusters of pairs that share a head or a tail.

-- Wilson's score interval of a share p observed on n independent observations (Wilson 1927):
-- (pn + z²/2 ± z √(p(1−p)n + z²/4)) / (n + z²), z = 1.959964.
-- The cases avoid a rounding error at p = 0 and 1. Null stays null, unlike in greatest(0, null).
create macro wilson_limit(p, n, z) as
    (p * n + 1.920729410347062 + z * sqrt(p * (1 - p) * n + 0.960364705173531)) / (n + 3.841458820694124);
create macro wilson_low(p, n) as case when p = 0 then 0.0 else wilson_limit(p, n, -1.959963984540054) end;
create macro wilson_high(p, n) as case when p = 1 then 1.0 else wilson_limit(p, n, 1.959963984540054) end;

-- The macros below aggregate over clusters: c of n observations are right in each.
create macro share(c, n) as sum(c)::double / nullif(sum(n), 0);
create macro n_clusters(n) as count(*) filter (n > 0);

-- N² Σ (c − pN')² over the clusters (N' the cluster's n, N = ΣN', C = Σc, p = C/N). It is computed exactly
-- from five sums of whole numbers, so that clusters that do not vary give 0 and not a rounding error.
create macro cluster_spread(c, n) as
    sum(n)::hugeint * sum(n)::hugeint * sum(c * c)::hugeint
    - 2 * sum(n)::hugeint * sum(c)::hugeint * sum(c * n)::hugeint
    + sum(c)::hugeint * sum(c)::hugeint * sum(n * n)::hugeint;

-- n / deff before the corrections below. deff = V / (p(1−p)/N), where V is the cluster-robust variance of a
-- ratio mean (Taylor linearisation; m clusters): V = m/(m−1) · Σ (c − pN')² / N².
create macro robust_n(c, n) as
    sum(c)::double * (sum(n) - sum(c))::double * (sum(n)::double * sum(n)::double)
    * (n_clusters(n) - 1) / n_clusters(n) / nullif(cluster_spread(c, n)::double, 0);

-- The 97.5 % quantile of Student's t with df degrees of freedom. From df = 20 on, its expansion about
-- z = 1.959964 (Fisher and Cornish 1960), accurate to 0.0000003. A macro repeats its argument wherever it
-- is used, and DuckDB plans every copy. The lambdas here and below name a long argument once, so that the views
-- are created and queried in three quarters of the time.
create macro t_quantile(df) as list_transform(
    [df],
    lambda m: case
        when m < 20 then
            [12.706204736, 4.302652730, 3.182446305, 2.776445105, 2.570581836, 2.446911851, 2.364624252,
            2.306004135, 2.262157163, 2.228138852, 2.200985160, 2.178812830, 2.160368656, 2.144786688,
            2.131449546, 2.119905299, 2.109815578, 2.100922040, 2.093024054][m]
        else
            1.959963984540054 + (2.372271230298562 + (2.8224986157396112
            + (2.555849679507722 + 1.5895340533938225 / m) / m) / m) / m
    end
)[1];

-- The number of clusters from which V is estimated: those with a right observation or those with a wrong one,
-- whichever are fewer (the others are all alike); at most m − 1.
create macro n_informative(c, n) as
    least(count(*) filter (c > 0), count(*) filter (c < n), n_clusters(n) - 1);

-- The effective number of clusters with these sizes, (Σn)² / Σn² (Kish 1965): the number of equal clusters
-- that would be as uneven a sample of them.
create macro effective_number(n) as sum(n)::double ** 2 / nullif(sum(n::double * n), 0);

-- The factor of a cluster's squared residual when the cluster has this share of the observations: without
-- the cluster, the mean would move by residual / (1 − share). The limit keeps it finite for a single cluster.
create macro leave_out(size_share) as 1 / (1 - least(size_share, 0.95)) ** 2;

-- What the interval of a share needs from the clusters of the fixed base (pairs), as one value. A query
-- computes it in one step and reads it in the next; otherwise the binder would repeat these sums hundreds of
-- times. n_most: the number of independent observations at most, if it is not the number of observations.
create macro observe(c, n, n_most := null) as struct_pack(
    share := share(c, n),
    n_observations := sum(n)::double,
    n_most := coalesce(n_most, sum(n))::double,
    n_clusters := n_clusters(n)::double,
    varies := cluster_spread(c, n) <> 0,
    robust_n := robust_n(c, n),
    n_informative := n_informative(c, n)
);

-- (z/t)². t has the degrees of freedom from which the variance is estimated. The variance is that of pairs
-- times `inflation` (estimate_shares.sql), so the share 1 / inflation of it comes from pairs,
-- with n_informative degrees of freedom, and the rest from n_rare effective heads or tails. Only a third of
-- these counts, because their sizes are so uneven, but at least three (benchmarks/coverage.py).
-- n_informative is null where the variance of pairs is known from their mean, as for mastery.
create macro student_factor(inflation, n_rare, n_informative) as
    3.841458820694124 / t_quantile(
        greatest(1, floor(1e-9 + least(
            coalesce(n_informative, 1e6),
            1 / (
                coalesce((1 - 1 / inflation) * 3 / greatest(n_rare, 9), 0)
                + coalesce(1 / inflation / nullif(n_informative, 0), 1e-12)
            )
        )))::bigint
    ) ** 2;

-- n / deff as Wilson's interval uses it, with these corrections (docs/statistics.md has the coverage):
-- 1. It is divided by `inflation`, which is 1 while the base is held fixed.
-- 2. It is multiplied by (z/t)² (Korn and Graubard 1998). If only one pair of twenty has a right sample, it
--    does not show how correlated the samples of a pair are; without this correction the interval covered
--    85 % instead of 95 %. This correction alone never lowers the result below one observation per cluster.
-- 3. It is at most n_most: pairs whose halves balance each other must not make the interval narrower than
--    independent samples would.
-- 4. Clusters that do not vary show nothing about deff, so each pair counts as one observation (deff = the
--    samples per pair). This happens at 0 and 100 %, and at the 50 % of a model that gets exactly half of
--    every pair right by a rule.
-- If every pair has one observation (mastery), n is the number of pairs while the base is held fixed.
create macro effective_n(s, inflation := 1.0, n_rare := null) as list_transform(
    [student_factor(inflation, n_rare, case when s.n_observations <> s.n_clusters then s.n_informative end)],
    lambda factor: case
        when s.n_clusters < 2 or not s.varies then least(s.n_clusters, s.n_most)
        when s.n_observations = s.n_clusters
            then s.n_clusters / inflation * case when inflation > 1 then factor else 1 end
        else least(
            s.n_most,
            greatest(least(coalesce(n_rare, s.n_clusters), s.robust_n / inflation), s.robust_n / inflation * factor)
        )
    end
)[1];

-- N² Σ (g − pN')(l − qN') over the clusters, where p = G/N and q = L/N, in whole numbers like cluster_spread.
create macro cross_spread(g, l, n) as
    sum(n)::hugeint * sum(n)::hugeint * sum(g * l)::hugeint
    - sum(n)::hugeint * sum(l)::hugeint * sum(g * n)::hugeint
    - sum(n)::hugeint * sum(g)::hugeint * sum(l * n)::hugeint
    + sum(g)::hugeint * sum(l)::hugeint * sum(n * n)::hugeint;

-- Everything that the limits of the difference D of two scores on the same pairs need, as one value, like `observe`. Of
-- the n observations in a cluster, g are gained (right in the first score and wrong in the second) and l are lost.
-- most: the number of independent observations at most in each cluster.
-- difference: D = Σ(g − l) / N. se: its cluster-robust standard error, √(m/(m−1) · Σ ((g − l) − Dn)² / N²): 0 if the
-- difference is the same in every pair; null for one pair. correlation: that of the residuals of gains and losses over
-- the clusters; 0 if either of them does not vary.
create macro paired(g, l, n, most := null) as struct_pack(
    difference := share(g - l, n),
    se := sqrt(
        n_clusters(n) / nullif(n_clusters(n) - 1, 0)
        * cluster_spread(g - l, n)::double / nullif(sum(n)::double, 0) ** 4
    ),
    gained := observe(g, n, n_most := sum(most)),
    lost := observe(l, n, n_most := sum(most)),
    correlation := coalesce(
        cross_spread(g, l, n)::double
        / nullif(sqrt(cluster_spread(g, n)::double) * sqrt(cluster_spread(l, n)::double), 0),
        0
    )
);

-- 95 % limits of a difference of two shares p1 − p2, from the limits of each share and their correlation r
-- (MOVER: Zou and Donner 2008; for pairs, method 10 of Newcombe 1998). away, toward: the distances of the
-- limits from their shares. Unlike Wald's D ± 1.96 se, this interval has a width where nothing differs, and
-- covers the truth where little differs (Wald: only 41 % in the worst case).
create macro mover_reach(away, toward, r) as list_transform(
    [struct_pack(away := away, toward := toward)],
    lambda d: sqrt(greatest(d.away * d.away - 2 * r * d.away * d.toward + d.toward * d.toward, 0))
)[1];

-- The 95 % limits of a share (gained) or, if is_difference, of gained − lost.
create macro limit_low(is_difference, gained, lost, n_gained, n_lost, r) as
    case
        when is_difference then gained - lost
            - mover_reach(gained - wilson_low(gained, n_gained), wilson_high(lost, n_lost) - lost, r)
        else wilson_low(gained, n_gained)
    end;
create macro limit_high(is_difference, gained, lost, n_gained, n_lost, r) as
    case
        when is_difference then gained - lost
            + mover_reach(wilson_high(gained, n_gained) - gained, lost - wilson_low(lost, n_lost), r)
        else wilson_high(gained, n_gained)
    end;
