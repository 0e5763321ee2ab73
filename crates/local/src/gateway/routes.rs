//! Finds the function for a method and a path, with API Gateway's order of precedence.
use percent_encoding::percent_decode_str;

use template::{Route, Template, nearest::similarity};

/// Minimum rating of a suggested route.
const SIMILAR: f64 = 0.6;
/// Prefers routes with the method of the request among similar routes.
const SAME_METHOD: f64 = 0.05;

/// Route with its function.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) function: String,
    pub(crate) key: String,
    pub(crate) scopes: Vec<String>,
    method: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    // From left to right, a literal segment takes precedence over a parameter. The derived order of
    // the variants implements this rule.
    Literal(String),
    Parameter(String),
}

/// Matched route with the decoded values of its path parameters.
#[derive(Debug)]
pub(crate) struct Match<'a> {
    pub(crate) target: &'a Target,
    pub(crate) parameters: Vec<(&'a str, String)>,
}

/// All routes, most specific first.
#[derive(Debug, Default)]
pub(crate) struct Routes(Vec<Target>);

impl Routes {
    pub(crate) fn of(template: &Template) -> Self {
        Self::new(template.lambdas.iter().flat_map(|spec| spec.routes.iter().map(|route| (spec.name.as_str(), route))))
    }

    pub(crate) fn new<'a>(routes: impl IntoIterator<Item = (&'a str, &'a Route)>) -> Self {
        let mut targets: Vec<_> = routes.into_iter().map(|(function, route)| Target::new(function, route)).collect();
        targets.sort_by(|a, b| a.parts.cmp(&b.parts));
        Self(targets)
    }

    pub(crate) fn find(&self, method: &str, path: &str) -> Option<Match<'_>> {
        let parts: Vec<_> = path.strip_prefix('/')?.split('/').collect();
        let mut fitting = self.0.iter().filter(|target| target.method == method);
        fitting.find_map(|target| target.matches(&parts))
    }

    /// Returns the methods of the most specific routes that match a path.
    pub(crate) fn methods(&self, path: &str) -> Vec<&str> {
        let Some(path) = path.strip_prefix('/') else { return Vec::new() };
        let parts: Vec<_> = path.split('/').collect();
        let matching = || self.0.iter().filter(|target| target.matches(&parts).is_some());
        let best = matching().map(|target| &target.parts).min();
        let same = matching().filter(|target| Some(&target.parts) == best);
        let mut methods: Vec<_> = same.map(|target| target.method.as_str()).collect();
        methods.sort_unstable();
        methods.dedup();
        methods
    }

    /// Returns the key of the route that is most similar to a request without a route.
    pub(crate) fn nearest(&self, method: &str, path: &str) -> Option<&str> {
        let rate = |target: &Target| {
            let bonus = if target.method == method { SAME_METHOD } else { 0.0 };
            similarity(path, &target.path_like(path)) + bonus
        };
        let rated = self.0.iter().map(|target| (rate(target), target.key.as_str()));
        rated.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(rate, _)| *rate >= SIMILAR).map(|(_, key)| key)
    }
}

impl Target {
    fn new(function: &str, route: &Route) -> Self {
        let part = |part: &str| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => Part::Parameter(name.to_owned()),
            None => Part::Literal(part.to_owned()),
        };
        Self {
            function: function.to_owned(),
            key: format!("{} {}", route.method, route.path),
            scopes: route.scopes.clone(),
            method: route.method.clone(),
            parts: route.path.trim_start_matches('/').split('/').map(part).collect(),
        }
    }

    /// The path of the route, with the parameters taken from the path.
    fn path_like(&self, path: &str) -> String {
        let given: Vec<_> = path.trim_matches('/').split('/').collect();
        let part = |(index, part): (usize, &Part)| match part {
            Part::Literal(literal) => literal.clone(),
            Part::Parameter(name) => given.get(index).map_or_else(|| format!("{{{name}}}"), |part| (*part).to_owned()),
        };
        let parts: Vec<_> = self.parts.iter().enumerate().map(part).collect();
        format!("/{}", parts.join("/"))
    }

    fn matches(&self, parts: &[&str]) -> Option<Match<'_>> {
        if parts.len() != self.parts.len() {
            return None;
        }
        let mut parameters = Vec::new();
        for (mine, given) in self.parts.iter().zip(parts) {
            let given = percent_decode_str(given).decode_utf8_lossy();
            match mine {
                Part::Literal(literal) if *literal == given => {}
                Part::Parameter(name) if !given.is_empty() => parameters.push((name.as_str(), given.into_owned())),
                _ => return None,
            }
        }
        Some(Match { target: self, parameters })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(paths: &[&str]) -> Routes {
        let routes: Vec<_> = paths
            .iter()
            .map(|path| Route { method: "GET".into(), path: (*path).into(), scopes: vec![], line: 1 })
            .collect();
        Routes::new(paths.iter().copied().zip(&routes))
    }

    fn found<'a>(routes: &'a Routes, path: &str) -> Option<&'a str> {
        routes.find("GET", path).map(|found| found.target.function.as_str())
    }

    #[test]
    fn literal_segments_precede_parameters() {
        let routes = routes(&["/a/{x}", "/a/due", "/{y}/due", "/a/{x}/b"]);
        assert_eq!(found(&routes, "/a/due"), Some("/a/due"));
        assert_eq!(found(&routes, "/a/other"), Some("/a/{x}"));
        assert_eq!(found(&routes, "/b/due"), Some("/{y}/due"));
        assert_eq!(found(&routes, "/a/due/b"), Some("/a/{x}/b"));
    }

    #[test]
    fn decodes_parameters_and_finds_no_route_for_an_unknown_path() {
        let routes = routes(&["/a/{x}"]);
        for path in ["/", "/a", "/a/", "/a/1/", "/a/1/2", "/A/1", "a/1", "//a/1"] {
            assert_eq!(found(&routes, path), None, "{path}");
        }
        assert!(routes.find("POST", "/a/1").is_none() && routes.find("HEAD", "/a/1").is_none());
        for (path, value) in
            [("/a/x%23y", "x#y"), ("/a/%2F", "/"), ("/a/%00", "\0"), ("/a/a+b", "a+b"), ("/a/%ff", "\u{fffd}")]
        {
            let found = routes.find("GET", path).unwrap();
            assert_eq!(found.parameters, [("x", value.to_owned())], "{path}");
        }
    }
}
