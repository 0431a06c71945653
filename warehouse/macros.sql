-- What the views share: 95 % intervals with the pair as the cluster (method, section 4).

-- Wilson's score interval of a share p seen on n independent observations (Wilson 1927):
-- (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n), z = 1.959964.
create macro wilson_centre(p, n) as (p + 1.920729410347062 / n) / (1 + 3.841458820694124 / n);
create macro wilson_half_width(p, n) as
    1.959963984540054 * sqrt(p * (1 - p) / n + 0.960364705173531 / (n * n))
    / (1 + 3.841458820694124 / n);
-- At p = 0 and 1 the sum is off by a rounding error; null stays null, unlike in greatest(0, null).
create macro wilson_low(p, n) as
    case when p = 0 then 0.0 else wilson_centre(p, n) - wilson_half_width(p, n) end;
create macro wilson_high(p, n) as
    case when p = 1 then 1.0 else wilson_centre(p, n) + wilson_half_width(p, n) end;

-- The rest aggregates over clusters: c of n observations are right in each of w such clusters.
create macro share(c, n) as sum(c)::double / nullif(sum(n), 0);
create macro n_clusters(n, w := 1) as coalesce(sum(w) filter (where n > 0), 0)::bigint;

-- N² Σ (c − pN')² over the clusters (N' the cluster's n, N = ΣN', C = Σc, p = C/N), from five sums
-- of whole numbers: exact, so that clusters which do not vary give 0 and not a rounding error.
create macro cluster_spread(c, n, w) as
    sum(w * n)::hugeint * sum(w * n)::hugeint * sum(w * c * c)::hugeint
    - 2 * sum(w * n)::hugeint * sum(w * c)::hugeint * sum(w * c * n)::hugeint
    + sum(w * c)::hugeint * sum(w * c)::hugeint * sum(w * n * n)::hugeint;

-- n / deff. deff = V / (p(1−p)/N) with the cluster-robust variance of a ratio mean (Taylor
-- linearisation; m clusters): V = m/(m−1) · Σ (c − pN')² / N². Never more than n_most, the number
-- of observations: pairs whose halves balance must not make an interval narrower than independent
-- samples would. Clusters that do not vary tell nothing of how their observations hang together:
-- then a cluster counts as one observation (deff = the samples per pair). That is so at 0 and
-- 100 %, and at the 50 % of a model that gets just half of every pair right by a rule.
create macro effective_n(c, n, w, n_most) as
    case
        when n_clusters(n, w) < 2 or cluster_spread(c, n, w) = 0 then n_clusters(n, w)::double
        else least(
            n_most::double,
            sum(w * c)::double * (sum(w * n) - sum(w * c))::double
            * (sum(w * n)::double * sum(w * n)::double)
            * (n_clusters(n, w) - 1) / n_clusters(n, w) / cluster_spread(c, n, w)::double
        )
    end;
create macro cluster_low(c, n) as wilson_low(share(c, n), effective_n(c, n, 1, sum(n)));
create macro cluster_high(c, n) as wilson_high(share(c, n), effective_n(c, n, 1, sum(n)));

-- Samples of a whole triplet: direct asks the one template of `none`, the others K = 8.
create macro samples_per_triplet(method) as case when method = 'direct' then 1 else 8 end;

-- The halves of a bit set of pair_scores.
create macro positive_bits(bits) as bits & 255;
create macro negative_bits(bits) as bits >> 8;
